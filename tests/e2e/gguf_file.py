"""Writes GGUF files, version 3: metadata and tensors as they are given."""

import struct

from harness import np

ALIGNMENT = 32
F32, F16, MXFP4 = 0, 1, 39


def _text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value):
    """The type number and the bytes of a metadata value."""
    if isinstance(value, bool):
        return 7, struct.pack("<B", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, float):
        return 6, struct.pack("<f", value)
    if isinstance(value, str):
        return 8, _text(value)
    items = [_value(item) for item in value]
    return 9, struct.pack("<IQ", items[0][0], len(items)) + b"".join(data for _, data in items)


class Blocks:
    """A tensor of rows of blocks: its shape in weights, its type number, its bytes."""

    def __init__(self, shape, kind, data):
        self.shape, self.kind, self.data = shape, kind, data


def write_gguf(path, metadata, tensors):
    """`tensors`: f32 or f16 arrays, or Blocks."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, value in metadata.items():
        kind, data = _value(value)
        head += _text(key) + struct.pack("<I", kind) + data
    body = b""
    for name, tensor in tensors.items():
        if not isinstance(tensor, Blocks):
            kind = F16 if tensor.dtype == np.float16 else F32
            tensor = Blocks(tensor.shape, kind, np.ascontiguousarray(tensor, "<f2" if kind == F16 else "<f4").tobytes())
        dims = tensor.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, tensor.kind, len(body))
        body += tensor.data + bytes(-len(tensor.data) % ALIGNMENT)
    with open(path, "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + body)
