"""Who a rank is: arguments before torchrun's variables, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from batchweave import Refused
from batchweave.__main__ import main
from batchweave._launch import Launch, find

TORCHRUN = {
    "RANK": "3",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "TORCHELASTIC_RUN_ID": "run7",
    "TORCHELASTIC_RESTART_COUNT": "2",
}


def test_should_take_everything_from_torchrun():
    assert find(group="g", environment=TORCHRUN) == Launch("g", "run7-2", 3, 3, 8, 0, 1, 2)


def test_should_prefer_arguments():
    found = find(
        group="g",
        session="s",
        rank=5,
        dp=1,
        dp_size=2,
        cp=3,
        cp_size=4,
        local_readers=4,
        environment=TORCHRUN,
    )
    assert found == Launch("g", "s", 5, 1, 2, 3, 4, 4)


def test_should_be_a_single_rank_with_a_session_of_its_own_outside_torchrun():
    one, other = find(group="g", environment={}), find(group="g", environment={})
    assert (one.rank, one.dp, one.dp_size, one.local_readers) == (None, 0, 1, 1)
    assert one.session != other.session


def test_should_ask_for_a_session_when_several_ranks_come_without_torchrun():
    with pytest.raises(Refused, match="session="):
        find(group="g", dp=0, dp_size=2, environment={})
    with pytest.raises(Refused, match="session="):
        find(group="g", environment={"RANK": "0", "WORLD_SIZE": "2"})


def test_should_tell_launches_of_one_node_apart_when_torchrun_has_no_run_id():
    env = dict(TORCHRUN, TORCHELASTIC_RUN_ID="none", LOCAL_WORLD_SIZE="8")
    session = find(group="g", environment=env).session
    assert session == find(group="g", environment=env).session
    assert session.startswith(f"none-{os.getppid()}-") and session.endswith("-2")


def test_should_refuse_several_nodes_without_a_run_id():
    with pytest.raises(Refused, match="rdzv-id"):
        find(group="g", environment=dict(TORCHRUN, TORCHELASTIC_RUN_ID="none"))


@pytest.mark.parametrize("run", ["My Run/7", "x" * 64, "\u00e9"])
def test_should_make_a_name_of_any_run_id(run):
    env = dict(TORCHRUN, TORCHELASTIC_RUN_ID=run)
    session = find(group="g", environment=env).session
    assert 1 <= len(session) <= 64
    assert session == find(group="g", environment=env).session
    other = find(group="g", environment=dict(env, TORCHELASTIC_RESTART_COUNT="3")).session
    assert session != other


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"dp": 1}, "dp_size"),
        ({"dp_size": 1}, "dp_size"),
        ({"cp": 0, "dp": 0, "dp_size": 1}, "cp_size"),
        ({"cp": 0, "cp_size": 1}, "dp_size"),
        ({"dp": 2, "dp_size": 2}, "dp=2"),
        ({"dp": -1, "dp_size": 2}, "dp=-1"),
        ({"dp": 0, "dp_size": 1, "cp": 1, "cp_size": 1}, "cp=1"),
        ({"local_readers": 0}, "local_readers=0"),
        ({"session": "Upper"}, "session='Upper'"),
        ({"session": ""}, "session=''"),
        ({"group": "a_b"}, "group='a_b'"),
        ({"group": "x" * 65}, "group="),
    ],
)
def test_should_name_what_is_wrong(arguments, named):
    with pytest.raises(Refused) as error:
        find(**{"group": "g", "environment": TORCHRUN, **arguments})
    assert named in str(error.value)


def test_should_name_a_variable_that_is_no_number():
    with pytest.raises(Refused, match="RANK='x'"):
        find(group="g", environment=dict(TORCHRUN, RANK="x"))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--dp", "4"], "dp=4"),
        (["--group", "A_b"], "group"),
        (["--deadline", "-1"], "deadline"),
        (["--report", "{junk}"], "no report"),
    ],
)
def test_should_tell_wrong_arguments_of_the_command_in_one_line(
    arguments: list[str], word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junk = tmp_path / "junk"
    junk.write_text("no json\n")
    code = main(["file:/nowhere"] + [part.format(junk=junk) for part in arguments])
    said = capsys.readouterr().err
    assert code == 2, said
    assert word in said and len(said.splitlines()) == 1, said
