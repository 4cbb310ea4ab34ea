"""The runner against a server with a known latency, and against a bare loop of HTTP calls.

    python benchmarks/runner.py [--runs N] [--large]

Every figure is of whole processes. `wall` is with 200 cases, 0.5 s latency and 32 calls at a time,
where no runner can be faster than ceil(200 / 32) x 0.5 s = 3.5 s. CPU a case is what each further
case costs at latency 0: the difference between a run of 1,000 and one of 200 cases, over 800.
`--large` adds 2,000 and 20,000 cases, once each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

CONCURRENCY, LATENCY_S, CASES = 32, 0.5, 200

BARE = """
import asyncio, json, pathlib, sys
import httpx2

url, concurrency = sys.argv[1], int(sys.argv[2])
lines = pathlib.Path("evals/cases.jsonl").read_text().splitlines()


async def main():
    slots = asyncio.Semaphore(concurrency)
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

        async def ask(case):
            body = {"model": "m", "max_tokens": 256,
                    "messages": [{"role": "user", "content": case["candidate"]["question"]}]}
            async with slots:
                answer = await client.post(url + "/chat/completions", json=body)
            text = answer.json()["choices"][0]["message"]["content"]
            return float(text) == case["gold"]["answer"]

        right = await asyncio.gather(*(ask(json.loads(line)) for line in lines))
    assert all(right)


asyncio.run(main())
"""

MODULE = """
import pytest


@pytest.mark.fineval("cases.jsonl")
def test_case(fineval):
    fineval.check()
"""


class Spent(NamedTuple):
    """What one process took."""

    wall_s: float
    cpu_s: float
    memory_kb: int


def serve(latency_s: float, told: Connection) -> None:
    """A chat server that answers 1 after a while; tells its port."""

    answer = {
        "model": "m",
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "1"}}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 1},
    }
    body = json.dumps(answer).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    reply = head % len(body) + body

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
                size = next(int(x[15:]) for x in lines if x.startswith(b"content-length:"))
                await reader.readexactly(size)
                if latency_s:
                    await asyncio.sleep(latency_s)
                writer.write(reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=1024)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


def project(folder: Path, cases: int, port: int) -> None:
    """Cases whose right answer is 1, and the model that is served."""
    (folder / "evals").mkdir(exist_ok=True)
    lines = [
        json.dumps(
            {
                "id": f"c{i:06}",
                "category": "extraction",
                "candidate": {"question": f"What is the ratio in quarter {i}?"},
                "gold": {"answer": 1, "unit": "ratio"},
                "scorer": {"name": "numeric", "abs_tol": 0.001},
            }
        )
        for i in range(cases)
    ]
    (folder / "evals" / "cases.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "evals" / "test_cases.py").write_text(MODULE)
    (folder / "bare.py").write_text(BARE)
    (folder / "pyproject.toml").write_text(
        f'[tool.fineval]\ncandidate = "m"\n[tool.fineval.run]\nconcurrency = {CONCURRENCY}\n'
        '[tool.fineval.models.m]\nclient = "openai-compatible"\nmodel = "m"\n'
        f'base_url = "{url(port)}"\n'
    )


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


def spent(folder: Path, command: list[str]) -> Spent:
    """Run a process to its end."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=environment, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    output = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, output[-3000:]
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def fineval(folder: Path, _: int) -> Spent:
    return spent(
        folder,
        ["-m", "pytest", "evals", "-q", "--fineval-live", "--fineval-baseline", "none",
         "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:hypothesispytest"],
    )  # fmt: skip


def bare(folder: Path, port: int) -> Spent:
    return spent(folder, ["bare.py", url(port), str(CONCURRENCY)])


Runner = Callable[[Path, int], Spent]
RUNNERS: dict[str, Runner] = {"bare asyncio + httpx2": bare, "pytest-fineval": fineval}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--large", action="store_true")
    given = parser.parse_args()
    servers = []
    ports = {}
    for latency in (0.0, LATENCY_S):
        mine, theirs = multiprocessing.Pipe()
        server = multiprocessing.Process(target=serve, args=(latency, theirs), daemon=True)
        server.start()
        servers.append(server)
        ports[latency] = mine.recv()
    try:
        with tempfile.TemporaryDirectory() as name:
            report(Path(name), ports, given.runs, large=given.large)
    finally:
        for server in servers:
            server.terminate()


def report(folder: Path, ports: dict[float, int], runs: int, *, large: bool) -> None:
    """Measure and print the table."""
    wall: dict[str, list[float]] = {name: [] for name in RUNNERS}
    cpu: dict[str, list[float]] = {name: [] for name in RUNNERS}
    for _ in range(runs):
        for name, run in RUNNERS.items():
            project(folder, CASES, ports[LATENCY_S])
            wall[name].append(run(folder, ports[LATENCY_S]).wall_s)
            few, many = (measured(folder, run, n, ports[0.0]) for n in (CASES, 5 * CASES))
            cpu[name].append((many.cpu_s - few.cpu_s) / (4 * CASES))
    ideal = math.ceil(CASES / CONCURRENCY) * LATENCY_S
    base = statistics.median(cpu["bare asyncio + httpx2"])
    print(f"| runner | wall, ideal {ideal} s | x ideal | CPU a case | x bare |")
    print("|---|---:|---:|---:|---:|")
    for name in RUNNERS:
        seconds, each = statistics.median(wall[name]), statistics.median(cpu[name])
        figures = f"{seconds:.2f} s | {seconds / ideal:.2f} | {1000 * each:.2f} ms"
        print(f"| {name} | {figures} | {each / base:.2f} |")
    if large:
        print("\n| cases | wall | CPU a case | memory a case |\n|---:|---:|---:|---:|")
        small = measured(folder, fineval, CASES, ports[0.0])
        for cases in (2_000, 20_000):
            found = measured(folder, fineval, cases, ports[0.0])
            more = cases - CASES
            each = f"{1000 * (found.cpu_s - small.cpu_s) / more:.2f} ms"
            memory = f"{(found.memory_kb - small.memory_kb) / more:.1f} kB"
            print(f"| {cases:,} | {found.wall_s:.1f} s | {each} | {memory} |")


def measured(folder: Path, run: Runner, cases: int, port: int) -> Spent:
    project(folder, cases, port)
    return run(folder, port)


if __name__ == "__main__":
    main()
