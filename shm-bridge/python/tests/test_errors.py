"""Every status of the C client becomes one exception, with its facts."""

from __future__ import annotations

import errno
import pickle
import re

import pytest
from conftest import HEADERS

from batchweave import errors

FACTS = {"stream": "s", "rank": 1, "step": 2}


def made(status: str, code: int = 0) -> errors.BatchWeaveError:
    return errors.from_status(status, "what, a=b, remedy", code, 0, 4096, 3, FACTS)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        ("NO_DAEMON", 0, errors.DaemonLost),
        ("DAEMON_LOST", 0, errors.DaemonLost),
        ("DEADLINE", 0, errors.DeadlineExceeded),
        ("VERSION", 0, errors.NotSupported),
        ("STEP_FAILED", 1, errors.StepFailed),
        ("STEP_FAILED", 2, errors.Reclaimed),
        ("STEP_FAILED", 7, errors.Superseded),
        ("RING_HELD", 0, errors.RingHeld),
        ("SUPERSEDED", 0, errors.Superseded),
        ("CORRUPT", 0, errors.CorruptRing),
        ("DIRTY", 0, errors.ViewFailed),
        ("FORKED", 0, errors.Refused),
        ("CLOSED", 0, errors.Refused),
        ("REFUSED", 4, errors.Refused),
        ("REFUSED", 7, errors.RingHeld),
        ("REFUSED", 12, errors.Superseded),
        ("REFUSED", 14, errors.Reclaimed),
        ("SYSTEM", 0, errors.BatchWeaveError),
    ],
)
def test_should_make_the_right_exception(status, code, kind):
    error = made(status, code)
    assert type(error) is kind
    assert (error.stream, error.rank, error.step) == ("s", 1, 2)
    assert str(error) == "what, a=b, remedy", "the client's text names stream, step and rank"


def test_should_tell_a_full_file_system_from_other_failed_calls():
    error = errors.from_status("SYSTEM", "what", 0, errno.ENOSPC, 0, 0, FACTS)
    assert type(error) is errors.NoSpace
    assert error.status == f"errno={errno.ENOSPC}"


def test_should_say_what_is_held():
    error = made("RING_HELD")
    assert isinstance(error, errors.RingHeld)
    assert (error.steps, error.bytes) == (3, 4096)


def test_should_name_every_refusal_of_the_handshake():
    schema = (HEADERS / "batchweave-handshake.xml").read_text()
    enum = re.search(r'<enum name="RefusalCode".*?</enum>', schema, re.S)
    assert enum is not None
    values = re.findall(r'<validValue name="(\w+)".*?>(\d+)</validValue>', enum.group())
    assert len(values) == 18
    for name, code in values:
        error = made("REFUSED", int(code))
        assert getattr(error, "code", name) in (name, None), error
        if isinstance(error, errors.Refused):
            assert error.code == name
    unknown = made("REFUSED", 200)
    assert isinstance(unknown, errors.Refused) and unknown.code == "CODE_200"


@pytest.mark.parametrize("status", ["RING_HELD", "REFUSED", "DEADLINE"])
def test_should_cross_a_process_boundary(status):
    error = made(status)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    # A DataLoader worker sends only class and text.
    assert str(type(error)("text")) == "text"


def test_should_list_every_class():
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.BatchWeaveError)
    }
    assert classes == set(errors.__all__)
    assert all(name in (errors.__doc__ or "") for name in classes - {"BatchWeaveError"})
