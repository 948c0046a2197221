"""A run against a server that answers after 200 ms, set beside the calls alone."""

import asyncio
import resource
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime

import pytest

from deermem_eval.answers import RunSettings, run_answers, run_tasks
from deermem_eval.answers.chat import ChatProvider
from deermem_eval.cases import load_cases
from deermem_eval.protocol import load_protocol

ANSWER_SECONDS = 0.2
SERVER = """
    import asyncio, json, sys
    body = json.dumps({"model": "m", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "YES"}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}).encode()
    head = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)

    async def serve(reader, writer):
        try:
            while True:
                request = await reader.readuntil(b"\\r\\n\\r\\n")
                size = int(request.lower().split(b"content-length:")[1].split(b"\\r\\n")[0])
                await reader.readexactly(size)
                await asyncio.sleep(float(sys.argv[1]))
                writer.write(head + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    asyncio.run(main())
"""


@pytest.fixture
def url():
    command = [sys.executable, "-c", textwrap.dedent(SERVER), str(ANSWER_SECONDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


@pytest.mark.parametrize(("calls", "workers"), [(90, 3), (5_000, 64)])
def test_run(benchmark, tmp_path, url, calls, workers):
    protocol = load_protocol("sample")
    pinned = run_tasks(protocol, load_cases(protocol))
    tasks = [Numbered(pinned[number % len(pinned)], number) for number in range(calls)]
    benchmark.group = f"run, {calls} calls by {workers} workers"

    def run():
        provider = ChatProvider(30, "key", base_url=url)

        async def answer():
            settings = RunSettings(workers, 1)
            report = await run_answers(
                tmp_path / "run", tasks, provider, settings, clock=lambda: datetime.now(UTC)
            )
            await provider.aclose()
            return report

        (tmp_path / "run").mkdir()
        began = time.perf_counter()
        report = asyncio.run(answer())
        benchmark.extra_info["of_ideal"] = (time.perf_counter() - began) / (
            calls / workers * ANSWER_SECONDS
        )
        benchmark.extra_info["megabytes"] = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        )
        return report

    report = benchmark.pedantic(run, rounds=1)
    assert len(report.called) == calls


class Numbered:
    """A task under a name of its own, so that one protocol makes any number of rows."""

    def __init__(self, task, number):
        self.decision, self.payload, self.fingerprint = (
            task.decision,
            task.payload,
            task.fingerprint,
        )
        self.row_id = f"row{number}"
