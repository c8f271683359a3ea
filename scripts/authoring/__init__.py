"""What a chapter takes besides its text: its first files, its expected outputs, the look at its sentences."""
