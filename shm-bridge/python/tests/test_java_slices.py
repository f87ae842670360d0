"""Slices as Java producers write them: read by the public library and by our parser alike."""

from __future__ import annotations

import pathlib

import java_tools
import pytest
import safetensors
import torch


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("slices")
    java_tools.run("WriteSlices", folder)
    return folder


def test_should_be_read_by_the_public_library_and_by_us(folder, probe):
    files = sorted(folder.iterdir())
    assert len(files) == 20
    for file in files:
        data = file.read_bytes()
        public = dict(safetensors.deserialize(data))
        ours = probe.slice(data).tensors()
        assert public.keys() == ours.keys()
        assert len(public) >= 5
        for name, tensor in ours.items():
            dtype = public[name]["dtype"]
            assert (tensor.dtype, list(tensor.shape)) == (dtype, public[name]["shape"])
            assert bytes(tensor.raw()) == bytes(public[name]["data"])
            assert bytes(tensor.raw()) == bytes((i + len(name)) & 1 for i in range(tensor.nbytes))


def test_should_lie_naturally_aligned(folder, probe):
    """The slice begins at a multiple of 64, so that every tensor of it is a view, not a copy."""
    slice_ = probe.slice((folder / "all.safetensors").read_bytes())
    base = torch.frombuffer(slice_, dtype=torch.uint8).data_ptr()
    for name, capsule in slice_.capsules().items():
        tensor = torch.from_dlpack(capsule)
        if tensor.numel():
            assert 0 < tensor.data_ptr() - base < len(slice_), name
