"""A block of a transformer in PyTorch: normalization, two linear layers with a GELU between them, and a residual."""

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - PyTorch's usual name


class Block(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        h = self.norm(x)
        h = self.up(h)
        h = F.gelu(h)
        return x + self.down(h)


block = Block(256, 1024)
EXAMPLE = (torch.ones(128, 256),)

if __name__ == "__main__":
    from pathlib import Path

    from torchax.export import exported_program_to_stablehlo

    _, program = exported_program_to_stablehlo(torch.export.export(block, EXAMPLE))
    Path("torch_block.jaxexport").write_bytes(program.serialize())
