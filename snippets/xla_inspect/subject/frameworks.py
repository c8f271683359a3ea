"""Models of PyTorch, Keras and TensorFlow as calls of functions of JAX, which each framework's own exporter makes."""

from __future__ import annotations

import logging
import re
import sys
from dataclasses import replace
from functools import partial, reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from xla_inspect import stablehlo
from xla_inspect.errors import InspectError
from xla_inspect.subject.nn_models import find_framework
from xla_inspect.subject.subject import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from xla_inspect.subject.request import Request

_FRAME = re.compile(r'File "(.+)", line (\d+), in (.+)')
_LIBRARY = re.compile(r"-packages.(?:tensorflow|keras)\b")
_OPERATION = re.compile(r'(?<=loc\()("(?:[^";]*;)?(?:Stateful)?PartitionedCall/([^"]+)")')
_ARGUMENT = re.compile(r'(?<=%arg)(\d+)(: tensor<[^>]*> loc\(")XLA_Args')


def load_saved_model(subject: str) -> tuple[ModuleType, str, str] | None:
    """Return the signatures in a SavedModel's folder as a module, with its name and that of one; else None."""
    folder, _, signature = (subject, "", "") if Path(subject).exists() else subject.rpartition(":")
    if not folder or not (Path(folder) / "saved_model.pb").is_file():
        return None
    module, model = ModuleType(folder), load_exporter("tensorflow", folder, "tensorflow").saved_model.load(folder)
    vars(module).update(model.signatures, __file__=None, _model=model)  # a signature does not keep its variables alive
    return module, folder, signature or "serving_default"


def export_model(request: Request, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], name: str) -> Call:
    """Return the call of a model, with its weights among the arguments; without others, those of its own signature.

    Raises:
        InspectError: The exporter is missing, an argument or a size is, or an option needs a function of JAX.
    """
    framework, inputs = find_framework(model), getattr(model, "inputs", None) or ()
    if request.grad or request.vmap or request.static:
        message = f"--grad, --vmap and --static need a function of JAX, and {name} is a model of {framework}"
        raise InspectError(message)
    if framework == "keras":
        keras = sys.modules["keras"]
        shapes = _complete_arguments(inputs, keras.tree.flatten(args), request, name)
        args = args or shapes
        # A model with several inputs takes them as one list.
        args = ([*args],) if len(args) == len(inputs) > 1 else args
        if not model.built:
            model(*keras.tree.map_structure(lambda leaf: keras.KerasTensor(leaf.shape, leaf.dtype), args), **kwargs)
        framework = keras.config.backend()
    exporters = {"jax": _export_keras, "torch": _export_torch, "tensorflow": _export_tensorflow}
    if framework not in exporters:
        message = f"{name} uses Keras's backend {framework}, which exports no StableHLO; set KERAS_BACKEND=jax"
        raise InspectError(message)
    logging.disable(logging.ERROR)  # frameworks also log the errors that they raise, with a traceback
    try:
        return exporters[framework](request, model, args, kwargs, name)
    finally:
        logging.disable(logging.NOTSET)


def load_exporter(module: str, name: str, package: str) -> Any:
    """Import and return the module that exports a model; raise `InspectError` without the package that pip installs."""
    try:
        return import_module(module)
    except (ImportError, AttributeError) as error:
        is_absent = isinstance(error, ModuleNotFoundError) and error.name in {module, module.partition(".")[0]}
        why = "is not installed" if is_absent else f"cannot be imported ({error})"
        message = f"{name} is exported by {module}, which {why}; install it next to xla-inspect: pip install {package}"
        raise InspectError(message) from error


def _complete_arguments(tensors: Sequence[Any], args: Any, request: Request, name: str) -> Any:
    """Return the arguments, else the shapes of a signature's tensors, whose open dimensions are `TENSOR.NUMBER`."""
    if not args and tensors:
        arrays = []
        for tensor in tensors:
            shape = (f"{tensor.name}.{at}" if size is None else size for at, size in enumerate(tensor.shape))
            arrays.append(stablehlo.Array(tensor.name, tuple(shape), getattr(tensor.dtype, "name", tensor.dtype)))
        return stablehlo.fill_sizes(arrays, request.dims, name)
    if not args:
        message = f"{name} has no input signature, so give the shapes: --args 'f32[32,64]', or EXAMPLE in the file"
        raise InspectError(message)
    if tensors and (count := len(args)) != len(tensors):
        message = f"{name} takes {len(tensors)} arrays ({', '.join(part.name for part in tensors)}), not {count}"
        raise InspectError(message)
    return args


def _make_call(function: Callable[..., Any], weights: Mapping[str, Any], args: Any, kwargs: Any) -> Call:
    """Return a call with a shape for each array of a framework; other values are unchanged."""
    import jax

    def describe(leaf: Any) -> Any:
        dtype = str(getattr(leaf, "dtype", "")).removeprefix("torch.")
        return jax.ShapeDtypeStruct(tuple(leaf.shape), jax.dtypes.canonicalize_dtype(dtype)) if dtype else leaf

    return Call(function, *jax.tree.map(describe, ((weights, *args), dict(kwargs))))


def _export_torch(request: Request, model: Any, args: Any, kwargs: Any, name: str) -> Call:
    _complete_arguments((), args or kwargs, request, name)
    torchax = load_exporter("torchax.export", name, "--pre torchax")
    torchax.torchax.default_env()  # it registers the functions of JAX

    def fill(leaf: Any) -> Any:
        is_array = hasattr(leaf, "dtype") and not isinstance(leaf, torchax.torch.Tensor)
        return torchax.torch.zeros(leaf.shape, dtype=getattr(torchax.torch, leaf.dtype.name)) if is_array else leaf

    class Interpreter(torchax.JaxInterpreter):  # type: ignore[misc,name-defined]
        def run_node(self, node: Any) -> Any:
            places = _FRAME.findall(node.meta.get("stack_trace") or "")
            return reduce(_add_frame, reversed(places), partial(super().run_node, node))()

    program = torchax.torch.export.export(model, *torchax.pytree.tree_map(fill, (args, kwargs))).run_decompositions()
    program = program.run_decompositions(torchax.decompositions.DECOMPOSITIONS)
    signature, values = program.graph_signature, {**program.state_dict, **program.constants}
    names = [part.target for part in signature.input_specs if part.target]

    def call(weights: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        inputs = (*(weights[name] for name in names), *torchax.pytree.tree_leaves((args, kwargs)))
        results = Interpreter(program.graph_module).run(*inputs, enable_io_processing=False)
        return results[len(signature.buffers_to_mutate) :]

    return _make_call(call, {name: values[name] for name in names}, args, kwargs)


def _add_frame(call: Callable[[], Any], place: tuple[str, str, str]) -> Any:
    """Return a function that calls another one from a place in a file, which JAX then records as a frame."""
    names: dict[str, Any] = {"call": call}
    exec(compile("\n" * (int(place[1]) - 1) + "def frame(): return call()", place[0], "exec"), names)  # noqa: S102
    names["frame"].__code__ = names["frame"].__code__.replace(co_name=place[2], co_qualname=place[2])
    return names["frame"]


def _export_keras(_: Request, model: Any, args: Any, kwargs: Any, __: str) -> Call:
    groups = model.trainable_variables, model.non_trainable_variables

    def call(weights: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        return model.stateless_call(*([weights[part.path] for part in group] for group in groups), *args, **kwargs)[0]

    return _make_call(call, {part.path: part for group in groups for part in group}, args, kwargs)


def _export_tensorflow(request: Request, model: Any, args: Any, kwargs: Any, name: str) -> Call:
    tf = load_exporter("tensorflow", name, "tensorflow")
    if not hasattr(model, "structured_input_signature"):
        function = next((part for part in (model, model.__call__) if hasattr(part, "get_concrete_function")), None)
        if not getattr(function, "input_signature", None):
            _complete_arguments((), args or kwargs, request, name)
        specs = tf.nest.map_structure(lambda leaf: tf.TensorSpec(leaf.shape, leaf.dtype), (args, kwargs))
        try:
            model = (function or tf.function(model)).get_concrete_function(*specs[0], **specs[1])
        except (TypeError, ValueError) as error:
            # The first line of such an error is `in user code:`, and the last one says what is wrong.
            places = [f"{file}:{line}: " for file, line, _ in _FRAME.findall(str(error))] or [f"{name}: "]
            raise InspectError(places[-1] + str(error).strip().splitlines()[-1].strip()) from error
    signature = model.structured_input_signature
    inputs = [leaf for leaf in tf.nest.flatten(signature) if isinstance(leaf, tf.TensorSpec)]
    shapes = _complete_arguments(inputs, tf.nest.flatten((args, kwargs)), request, name)

    def whole(*values: Any) -> Any:
        rest = iter(values)
        filled = tf.nest.map_structure(lambda leaf: next(rest) if isinstance(leaf, tf.TensorSpec) else leaf, signature)
        return model(*filled[0], **filled[1])

    specs = [tf.TensorSpec(shape.shape, spec.dtype) for shape, spec in zip(shapes, inputs, strict=True)]
    function = tf.function(whole, jit_compile=True, autograph=False)
    text = function.experimental_get_compiler_ir(*specs)(stage="stablehlo")
    traced = function.get_concrete_function(*specs)
    variables = {id(variable.handle): variable.name.removesuffix(":0") for variable in traced.variables}
    names = [spec.name for spec in inputs] + [variables.get(id(value), "constant") for value in traced.captured_inputs]
    text = _ARGUMENT.sub(lambda match: match[1] + match[2] + dict(enumerate(names)).get(int(match[1]), "arg"), text)
    operations = {operation.name: operation for operation in model.graph.get_operations()}
    text = _OPERATION.sub(lambda match: f"{match[1]}({_locate(operations, match[2])})", text)
    program = stablehlo.read_module(stablehlo.StablehloFile(name, text.encode()))
    return Call(*stablehlo.make_call(replace(program, name=name.replace(".", "_")), {}, name))


def _locate(operations: Mapping[str, Any], operation: str) -> str:
    """Return the call chain of an operation, or of the call of the function around it, as a location of MLIR."""
    while operation and operation not in operations:
        operation = operation.rpartition("/")[0]
    chain = (operations[operation].traceback if operation else None) or ()
    frames = [
        f'"{frame.name}"("{stablehlo.StablehloFile("", b"", path=path.absolute()).source_name}":{frame.lineno}:1)'
        for frame in chain
        if (path := Path(frame.filename)).is_file() and not _LIBRARY.search(frame.filename)
    ]
    return reduce(lambda outer, inner: f"callsite({inner} at {outer})", frames) if frames else "unknown"
