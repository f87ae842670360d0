"""Who may use a daemon, and what a rank cannot do to it: users, groups, links, scribbles. Case U5.

Runs processes under other user ids, which only root may: elsewhere reported as not run.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile
import urllib.request
from typing import Iterator

import abi
import java_tools
import pytest
from conftest import REPOSITORY
from system import RING, STEPS, Process, until

ONE, OTHER, STRANGER = 61001, 61002, 61003
GROUP = 61000


def as_user(uid: int, command: list, *groups: int) -> list:
    """The command as another user: nobody's capabilities, a group of its own."""
    extra = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", *extra, "--", *command]


@pytest.fixture(scope="module")
def build() -> Iterator[pathlib.Path]:
    """The build where every user can read it."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("not run: other users' processes need root and setpriv")
    java, *_ = java_tools.command("none")
    if not os.access(java, os.X_OK) or not subprocess.run(
        as_user(ONE, [java, "-version"]), capture_output=True, timeout=60
    ).returncode == 0:
        pytest.skip("not run: other users cannot run this JDK")
    root = pathlib.Path(tempfile.mkdtemp(prefix="batchweave-users-", dir="/var/tmp"))
    os.chmod(root, 0o755)
    for name in ("core/target/classes", "shm-bridge/target/classes", "shm-bridge/target/lib"):
        shutil.copytree(REPOSITORY / name, root / name)
    shutil.copy(REPOSITORY / "shm-bridge/jvm.flags", root)
    subprocess.run(["chmod", "-R", "a+rX", str(root)], check=True)
    yield root
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def run(build, processes):
    """Runs a command of the launcher as a user; killed at the end."""

    def start(uid: int, *arguments: object, groups: tuple = ()) -> Process:
        java, *_ = java_tools.command("none")
        path = f"{build}/shm-bridge/target/classes:{build}/core/target/classes:"
        path += f"{build}/shm-bridge/target/lib/*"
        flags = [f"@{build}/jvm.flags", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx128m"]
        command = [java, *flags, "-cp", path, "io.batchweave.cli.Main", *map(str, arguments)]
        open_to_all = ["sh", "-c", 'umask 0; exec "$@"', "sh", *as_user(uid, command, *groups)]
        started = Process(open_to_all, {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"})
        processes.callback(started.kill)
        return started

    return start


@pytest.fixture
def shared_stream(stream, build) -> str:
    """A stream that every user may read, and write sessions to."""
    target = build / "stream"
    if not target.exists():
        shutil.copytree(stream(), target)
        subprocess.run(["chmod", "-R", "a+rwX", str(target)], check=True)
    return f"file:{target}"


def serving(daemon: Process) -> str:
    line = daemon.line(60)
    while not line.startswith("serving:"):
        line = daemon.line(60)
    return line


def read_all(rank: Process, first: int = 0) -> None:
    """Reads what a rank reports to the end of the stream."""
    for step in range(first, STEPS):
        assert json.loads(rank.line(60))["step"] == step
    assert rank.end(60) == 0


@pytest.mark.timeout(240)
def test_should_serve_two_users_on_one_node(run, shared_stream):
    """Case U5: the same stream, each in its own default directory; one is killed."""
    homes = [pathlib.Path(f"/dev/shm/batchweave-{uid}") for uid in (ONE, OTHER)]
    try:
        serve = ("serve", shared_stream, "--memory", RING, "--reserve", 0)
        one, other = run(ONE, *serve), run(OTHER, *serve)
        for daemon, home in ((one, homes[0]), (other, homes[1])):
            assert str(home / "default") in serving(daemon)
            assert stat.S_IMODE((home / "default").stat().st_mode) == 0o700
        ranks = [
            run(uid, "rank", shared_stream, "--group", f"g{uid}", "--session", f"s{uid}")
            for uid in (ONE, OTHER)
        ]
        assert json.loads(ranks[0].line(60))["step"] == 0
        one.kill()
        ranks[0].kill()
        read_all(ranks[1])
        stranger = run(STRANGER, "rank", shared_stream, "--dir", homes[1] / "default")
        assert stranger.end(60) != 0
        assert "default" in "\n".join(stranger.errors), "it is told where it may not go"
    finally:
        for home in homes:
            shutil.rmtree(home, ignore_errors=True)


@pytest.mark.timeout(240)
def test_should_share_a_directory_with_a_group_and_with_nobody_else(
    run, shared_stream, place, tmp_path
):
    """A daemon of one user, ranks of that user and of another member of the group."""
    import grp

    group = next(
        (g for g in grp.getgrall() if g.gr_gid not in (0, ONE, OTHER, STRANGER)), None
    )
    if group is None:
        pytest.skip("not run: no group is known here")
    place.parent.chmod(0o755)
    os.chown(place.parent, ONE, ONE)
    member = (group.gr_gid,)
    daemon = run(
        ONE,
        *("serve", shared_stream, "--memory", RING, "--reserve", 0),
        *("--dir", place, "--group", group.gr_name),
        groups=member,
    )
    serving(daemon)
    assert stat.S_IMODE(place.stat().st_mode) == 0o3770
    options = ("--dir", place, "--session", "both", "--local-ranks", 2, "--group", "train")
    ranks = [
        run(uid, "rank", shared_stream, *options, groups=member) for uid in (ONE, OTHER)
    ]
    for rank in ranks:
        assert json.loads(rank.line(60))["step"] == 0
    for path in place.rglob("*"):
        facts = path.lstat()
        assert facts.st_gid == group.gr_gid, path
        assert facts.st_mode & 0o007 == 0, path
    owners = {path.stat().st_uid for path in place.glob("*.reader")}
    assert owners <= {ONE, OTHER}
    for rank in ranks:
        read_all(rank, 1)
    stranger = run(STRANGER, "rank", shared_stream, "--dir", place, "--deadline", 5)
    assert stranger.end(60) != 0
    unknown = run(ONE, "serve", shared_stream, "--dir", tmp_path / "d", "--group", "no-such-group")
    assert unknown.end(60) == 2
    assert "--group=no-such-group" in unknown.errors[-1]


def test_should_not_attach_where_anybody_may_write(rank, place):
    """What others could have put there is not believed; a link is not followed."""
    place.mkdir(mode=0o700)
    link = place.parent / "link"
    link.symlink_to(place)
    one = rank()
    for directory, mode in ((place, 0o777), (link, 0o700)):
        place.chmod(mode)
        told = one.do(f"""
import fcntl, struct
lock = open({str(place / "daemon.lock")!r}, "a+b")
fcntl.fcntl(lock, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
open({str(place / "daemon.json")!r}, "w").write('{{"abi": 1}}')
try:
    batchweave.attach("s", directory={str(directory)!r}, session="s", deadline_s=5)
except batchweave.Refused as refusal:
    told = [refusal.code, str(refusal)]
lock.close()
told
""")
        assert told[0] == "ARGUMENT" and "not a directory to trust" in told[1]


def test_should_wait_for_a_directory_to_come(rank, place):
    one = rank()
    told = one.do(f"""
try:
    batchweave.attach("s", directory={str(place)!r}, session="s", deadline_s=0.2)
except batchweave.DaemonLost as error:
    told = "lost"
told
""")
    assert told == "lost"
    until(lambda: not place.exists(), "nothing was made there")


SCRIBBLE = """
import contextlib, random
[own] = [n for n in os.listdir({place!r}) if n.endswith(".reader") and n not in {others!r}]
own = os.path.join({place!r}, own)
def noise(dice):
    with open(own, "r+b") as file:
        file.write(dice.randbytes(8704))
def words(dice):
    with open(own, "r+b") as file:
        for _ in range(40):
            file.seek(dice.randrange(16, 1088) * 8)
            file.write(dice.choice((0, 1, 2**63, 2**64 - 1, dice.randrange(2**64), dice.randrange(64)))
                       .to_bytes(8, "little"))
def everything_acked(dice):
    with open(own, "r+b") as file:
        for n in range(1024):
            file.seek(512 + 8 * n)
            file.write((2 * dice.randrange(0, 5000) * 1024 + 2 * n + 2).to_bytes(8, "little"))
        file.seek(256)
        file.write((2**40).to_bytes(8, "little"))
def cut(dice):
    with contextlib.suppress(FileNotFoundError):  # the daemon took it for dead and removed it
        os.truncate(own, dice.choice((0, 100, 4096)))
dice = random.Random(7)
"""


TRY_NEXT = """
try:
    step = None
    step = reader.next({deadline})
    told = seen(step)
except (batchweave.DeadlineExceeded, batchweave.DaemonLost):
    told = None  # not in this time, on a busy machine not even a daemon
told
"""


def good_and_bad(url, rank, place):
    """Two ranks that hold step 0, the second of which can scribble over its own file."""
    good, bad = rank(), rank()
    for index, each in enumerate((good, bad)):
        each.send(
            f"reader = batchweave.attach({url!r}, directory={str(place)!r}, session='s', "
            f"local_readers=2, dp={index}, dp_size=2)\nreader.next_step"
        )
    assert [good.answer(), bad.answer()] == [0, 0]
    for each in (good, bad):
        assert each.do("step = reader.next(); seen(step)[0]") == 0
    pid = good.pid
    others = [
        path.name for path in place.glob("*.reader") if abi.field(path.read_bytes(), abi.READER, "pid") == pid
    ]
    bad.do(SCRIBBLE.format(place=str(place), others=others))
    return good, bad


@pytest.mark.parametrize("how", ["noise", "words", "everything_acked", "cut"])
def test_should_hurt_only_itself_when_it_scribbles_over_its_own_file(
    stream, serve, rank, place, how
):
    """The other rank may be held up as by a hung one, until this one ends; never by wrong bytes."""
    url = stream(dp=2)
    serve(url, memory_bytes=8 * 16384)
    good, bad = good_and_bad(url, rank, place)
    served = 1
    for _ in range(12):
        bad.do(f"{how}(dice)")
        told = good.do(TRY_NEXT.format(deadline=0.2))
        if told is not None:
            assert told == [served, [[0, 0, 1000, 0]]]
            served += 1
    bad.kill()
    for step in range(served, STEPS):
        assert good.do("step = None; step = reader.next(); seen(step)") == [
            step,
            [[0, 0, 1000, 0]],
        ]
    metrics = json.loads((place / "daemon.json").read_text())["metrics"]
    with urllib.request.urlopen(metrics, timeout=20) as answer:
        told = answer.read()
        if how != "cut":  # there the JVM may tell of it after the read: that is counted
            assert b"batchweave_agent_errors_total 0\n" in told


@pytest.mark.parametrize("how", ["noise", "words", "everything_acked", "cut"])
def test_should_hurt_only_itself_also_when_the_daemon_is_replaced(stream, serve, rank, place, how):
    """The next daemon finds what the rank wrote; the other rank goes on where it was."""
    url = stream(dp=2)
    daemon = serve(url, memory_bytes=8 * 16384)
    good, bad = good_and_bad(url, rank, place)
    served = 1
    for _ in range(3):
        bad.do(f"{how}(dice)")
        daemon.kill()
        bad.do(f"{how}(dice)")
        daemon = serve(url, memory_bytes=8 * 16384)
        told = good.do(TRY_NEXT.format(deadline=1))
        if told is not None:
            assert told == [served, [[0, 0, 1000, 0]]]
            served += 1
    bad.kill()
    for step in range(served, STEPS):
        told = good.do("step = None; step = reader.next(); seen(step)")
        assert told == [step, [[0, 0, 1000, 0]]]
