"""Servers on this machine that stand in for the Hub and for the files of a repository."""

import hashlib
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


@dataclass
class Answer:
    """What a path is answered with; a body is cut short, or stalls half-way, on demand."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    stalls: bool = False


@dataclass
class Loopback:
    """A server with an answer for each path; `requests` logs (method, path, headers)."""

    answers: dict[str, Answer] = field(default_factory=dict)
    default: Answer = field(default_factory=lambda: Answer(b"nothing here", 404))
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    url: str = ""

    def paths(self, method: str) -> list[str]:
        return [path for sent, path, _ in self.requests if sent == method]


@contextmanager
def serving(loopback: Loopback):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def log_message(self, *arguments):
            pass

        def answer(self):
            path = urlsplit(self.path).path
            loopback.requests.append((self.command, path, dict(self.headers)))
            answer = loopback.answers.get(path, loopback.default)
            body, status = answer.body, answer.status
            headers = dict(answer.headers)
            if start := self.headers.get("Range"):
                offset = int(start.removeprefix("bytes=").rstrip("-"))
                headers["Content-Range"] = f"bytes {offset}-{len(body) - 1}/{len(body)}"
                body, status = body[offset:], 206
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if answer.stalls:
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                time.sleep(3)
                self.close_connection = True
                return
            if answer.cut_at is not None and status == 200:
                self.wfile.write(body[: answer.cut_at])
                self.wfile.flush()
                self.close_connection = True
                self.connection.close()
                return
            self.wfile.write(body)

        do_GET = do_HEAD = answer

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    loopback.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield loopback
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def hub_answer(body: bytes, revision: str, **changes) -> Answer:
    """A file as the Hub's resolve route gives it."""
    etag = f'"{hashlib.sha1(body, usedforsecurity=False).hexdigest()}"'
    return Answer(body, headers={"ETag": etag, "X-Repo-Commit": revision}, **changes)


def hub_error(code: str, status: int = 404) -> Answer:
    """A refusal that the Hub's client can tell from others."""
    return Answer(b"{}", status, {"X-Error-Code": code, "X-Error-Message": code})
