"""A model on this machine: an OpenAI-compatible server that answers as a test tells it to."""

import gzip
import json
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def completion(content="YES", *, finish="stop", usage=True, **message):
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "a-model-0731",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return body


@dataclass
class Answer:
    """One HTTP answer; `raw` is sent as it is, `hang` seconds come first."""

    body: object = field(default_factory=completion)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hang: float = 0
    cut: bool = False
    drip: bool = False


@dataclass
class ChatServer:
    """`script(payload, number)` gives the answer to the number-th request of that payload."""

    script: Callable[[dict, int], Answer] = lambda payload, number: Answer()
    requests: list[tuple[dict, dict[str, str], str]] = field(default_factory=list)
    url: str = ""

    def count(self, payload: dict) -> int:
        return sum(sent == payload for sent, *_ in self.requests)


@contextmanager
def serving_chat(server: ChatServer):
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def log_message(self, *arguments):
            pass

        def do_POST(self):
            payload = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                server.requests.append((payload, dict(self.headers), self.path))
                number = server.count(payload)
            answer = server.script(payload, number)
            if answer.hang:
                time.sleep(answer.hang)
            body = answer.raw if answer.raw is not None else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                if answer.cut:
                    self.wfile.write(body[: len(body) // 2])
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.close()
                elif answer.drip:
                    for byte in body:
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                        time.sleep(0.2)
                else:
                    self.wfile.write(body)
            except OSError:
                self.close_connection = True

    ThreadingHTTPServer.request_queue_size = 128
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def zipped(body) -> Answer:
    content = gzip.compress(json.dumps(body).encode())
    return Answer(raw=content, headers={"Content-Encoding": "gzip"})
