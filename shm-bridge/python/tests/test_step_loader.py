"""StepLoader over a reader of our own: batches, positions, workers. Cases U16, U32, U34."""

from __future__ import annotations

import gc
import multiprocessing
import os
from types import ModuleType
from typing import Iterator

import pytest
import torch
from safetensors.torch import save
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import batchweave.torch as bw
from batchweave import BatchWeaveError, CorruptSlice, NotSupported, Refused
from batchweave._token import Token, decode
from batchweave.torch import StepLoader

STREAM_ID = "00112233445566778899aabbccddeeff"
STEPS = 6
PROBE: ModuleType | None = None


class ProbeReader:
    """What StepLoader needs of a Reader, on slices of the probe. Step n is filled with n."""

    slices_per_step = 1
    pinned = False
    sealed = True
    deadline_s = 300.0
    made: list = []
    registered: list = []

    def __init__(self, stream: str, **options: object) -> None:
        self.options = options
        self.closed = False
        self.launch = type("Launch", (), {"session": "s-1"})()
        token = options.get("token")
        self.next_step = decode(token).next_step if isinstance(token, bytes) else 0
        self.next_step = options.get("next_step", self.next_step)
        ProbeReader.made.append(self)

    @property
    def token(self) -> bytes:
        return Token(STREAM_ID, 5, self.next_step).encode()

    def _take(self, deadline_s: float, copies_on: int) -> tuple | None:
        assert PROBE is not None and deadline_s > 0 and copies_on == 0
        step = self.next_step
        if step == STEPS:
            return None
        self.next_step += 1
        slices = tuple(
            PROBE.slice(self.content(step, part)) for part in range(self.slices_per_step)
        )
        return step, step + 1, slices

    def status(self) -> dict:
        return {"sealed": self.sealed, "session_steps": STEPS}

    def checkpointed(self, id: str, **options: object) -> None:
        self.registered.append((id, options))

    def content(self, step: int, part: int) -> bytes:
        tokens = torch.full((2, 3), step * 10 + part, dtype=torch.int32)
        return save({"tokens": tokens, "loss_scale": torch.tensor(float(part))})

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def reader(probe: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Iterator[type]:
    global PROBE
    PROBE = probe
    monkeypatch.setattr(bw, "Reader", ProbeReader)
    monkeypatch.setattr(ProbeReader, "made", [])
    monkeypatch.setattr(ProbeReader, "slices_per_step", 1)
    yield ProbeReader
    gc.collect()


def first(batch: dict) -> int:
    return int(batch["tokens"][0, 0])


def test_should_give_dicts_of_views(held):
    batches = list(StepLoader("s"))
    assert [first(batch) for batch in batches] == [0, 10, 20, 30, 40, 50]
    assert batches[0]["tokens"].dtype is torch.int32
    assert (held.taken, held.released) == (STEPS, 0)
    del batches
    assert held.released == STEPS


def test_should_hold_one_step_while_it_asks_for_the_next(held):
    for batch in StepLoader("s"):
        assert held.taken - held.released == 1, (
            "the batch before went when the name was bound again"
        )
        assert first(batch) % 10 == 0


def test_should_attach_on_first_use_only(reader):
    loader = StepLoader("s", group="g", views="shared", pin=False)
    assert reader.made == []
    iter(loader)
    assert reader.made[0].options == {"group": "g", "views": "shared", "pin": False}


@pytest.mark.parametrize("combine", ["cat", "list"])
def test_should_join_the_slices_of_a_smaller_job(reader, held, monkeypatch, combine):
    """Case U34: a stream cut for more ranks than the job has."""
    monkeypatch.setattr(reader, "slices_per_step", 2)
    batch = next(iter(StepLoader("s", combine=combine)))
    if combine == "cat":
        assert batch["tokens"].tolist() == [[0] * 3, [0] * 3, [1] * 3, [1] * 3]
        assert batch["loss_scale"].tolist() == [0.0, 1.0]
        assert held.released == held.taken == 2
    else:
        assert [t.tolist() for t in batch["tokens"]] == [[[0] * 3] * 2, [[1] * 3] * 2]
        assert held.released == 0


def test_should_refuse_slices_of_different_names(reader, monkeypatch):
    monkeypatch.setattr(reader, "slices_per_step", 2)
    monkeypatch.setattr(
        reader, "content", lambda self, step, part: save({f"x{part}": torch.ones(1)})
    )
    with pytest.raises(CorruptSlice) as error:
        next(iter(StepLoader("s")))
    assert error.value.step == 0


def test_should_refuse_another_way_to_combine():
    with pytest.raises(Refused, match="combine"):
        StepLoader("s", combine="stack")


def test_should_resume_behind_the_last_batch(reader):
    loader = StepLoader("s")
    seen = [first(batch) for _, batch in zip(range(3), loader)]
    state = loader.state_dict()
    assert seen == [0, 10, 20]
    assert len(state["token"]) <= 256
    fresh = StepLoader("s")
    fresh.load_state_dict(state)
    assert fresh.state_dict() == state
    assert [first(batch) for batch in fresh] == [30, 40, 50]
    assert "next_step" not in reader.made[-1].options
    assert fresh.reader.next_step == STEPS


def test_should_go_back_within_its_session_by_step(reader):
    loader = StepLoader("s")
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    assert first(next(iterator)) == 10
    loader.load_state_dict(state)
    assert reader.made[0].closed
    assert first(next(iter(loader))) == 10
    assert reader.made[1].options == {
        "next_step": 1,
        "view_version": 5,
        "session": "s-1",
        "pin": False,
    }


def test_should_refuse_the_position_of_another_stream_when_it_goes_back(reader):
    loader = StepLoader("s")
    next(iter(loader))
    other = Token("f" * 32, 5, 1).encode().hex()
    loader.load_state_dict({"token": other})
    with pytest.raises(Refused) as refused:
        iter(loader)
    assert refused.value.code == "TOKEN_OF_OTHER_STREAM"
    assert len(reader.made) == 1, "it asked nobody"


def test_should_have_a_length_once_the_stream_is_sealed(reader, monkeypatch):
    loader = StepLoader("s")
    with pytest.raises(TypeError):
        len(loader)  # attaching here would take the stream away from a DataLoader's worker
    assert loader and reader.made == []
    iter(loader)
    assert len(loader) == STEPS
    monkeypatch.setattr(reader, "sealed", False)
    with pytest.raises(TypeError, match="sealed"):
        len(loader)
    assert len(list(loader)) == STEPS


def test_should_register_the_position_of_the_checkpoint(reader, monkeypatch):
    monkeypatch.setattr(reader, "registered", [])
    loader = StepLoader("s")
    next(iter(loader))
    state = loader.state_dict()
    next(loader)
    loader.checkpointed("a")
    loader.checkpointed("b", keep=5, state=state, deadline_s=1)
    token = bytes.fromhex(state["token"])
    assert reader.registered == [
        ("a", {"keep": 3, "token": None, "deadline_s": None}),
        ("b", {"keep": 5, "token": token, "deadline_s": 1}),
    ]
    with pytest.raises(Refused):
        loader.checkpointed("c", state={"token": "zz"})


def test_should_keep_the_position_when_closed(reader):
    with StepLoader("s") as loader:
        kept = next(iter(loader))
    assert reader.made[0].closed
    assert first(kept) == 0
    assert decode(bytes.fromhex(loader.state_dict()["token"])).next_step == 1
    assert first(next(iter(loader))) == 10


def test_should_not_invent_a_position():
    with pytest.raises(Refused, match="StatefulDataLoader"):
        StepLoader("s").state_dict()


@pytest.mark.parametrize("token", ["zz", "00", 7, Token(STREAM_ID, 1, 1).encode()[:-1].hex()])
def test_should_refuse_what_is_no_state(token):
    with pytest.raises(Refused):
        StepLoader("s").load_state_dict({"token": token})


def test_should_work_as_the_dataset_of_a_data_loader_without_workers(held):
    loader = DataLoader(StepLoader("s"), batch_size=None, num_workers=0)
    seen = []
    for batch in loader:
        seen.append(first(batch))
        assert held.taken - held.released == 1, "views, not copies"
    assert seen == [0, 10, 20, 30, 40, 50]


def test_should_resume_in_a_stateful_data_loader():
    def stateful() -> StatefulDataLoader:
        return StatefulDataLoader(StepLoader("s"), batch_size=None, num_workers=0)

    loader = stateful()
    seen = [first(batch) for _, batch in zip(range(2), loader)]
    fresh = stateful()
    fresh.load_state_dict(loader.state_dict())
    assert seen == [0, 10]
    assert [first(batch) for batch in fresh] == [20, 30, 40, 50]


def test_should_copy_its_way_out_of_one_worker(held):
    """Case U32: one worker works, by copies; the parent never attaches."""
    loader = StepLoader("s")
    batches = list(DataLoader(loader, batch_size=None, num_workers=1))
    assert [first(batch) for batch in batches] == [0, 10, 20, 30, 40, 50]
    assert all(batch["tokens"].is_shared() for batch in batches)
    assert held.taken == 0
    with pytest.raises(Refused):
        loader.state_dict()


def test_should_resume_in_a_stateful_data_loader_with_one_worker():
    def stateful() -> StatefulDataLoader:
        return StatefulDataLoader(StepLoader("s"), batch_size=None, num_workers=1)

    loader = stateful()
    seen = [first(batch) for _, batch in zip(range(2), loader)]
    state = loader.state_dict()
    fresh = stateful()
    fresh.load_state_dict(state)
    assert seen == [0, 10]
    assert [first(batch) for batch in fresh] == [20, 30, 40, 50]


def test_should_refuse_two_workers():
    """Case U32."""
    with pytest.raises(NotSupported, match="num_workers=2"):
        list(DataLoader(StepLoader("s"), batch_size=None, num_workers=2))


def test_should_refuse_a_worker_of_a_process_that_is_attached():
    """Case U32: a forked worker must not read on where its parent stands."""
    loader = StepLoader("s")
    next(iter(loader))
    with pytest.raises(Refused, match="num_workers=0"):
        list(DataLoader(loader, batch_size=None, num_workers=1))
    assert first(next(iter(loader))) == 10


def test_should_refuse_to_be_sent_while_attached(reader):
    loader = StepLoader("s", group="g")
    sent = multiprocessing.reduction.ForkingPickler.dumps(loader)
    again = multiprocessing.reduction.ForkingPickler.loads(sent)
    assert first(next(iter(again))) == 0
    assert reader.made[0].options["group"] == "g"
    iter(loader)
    with pytest.raises(Refused, match="close"):
        multiprocessing.reduction.ForkingPickler.dumps(loader)


def test_should_refuse_in_a_forked_child():
    loader = StepLoader("s")
    iter(loader)
    child = os.fork()
    if child == 0:
        try:
            next(loader)
            os._exit(1)
        except Refused as refusal:
            os._exit(0 if refusal.code == "FORKED" else 2)
        except BatchWeaveError:
            os._exit(3)
    assert os.waitpid(child, 0)[1] == 0
