"""What stands for somebody else's service: an HTTP server on loopback, in a thread."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: how often the server looks whether it is over
_LOOK_SECONDS = 0.02


class Answering[Known](BaseHTTPRequestHandler):
    """Answers requests from what its server knows."""

    known: Known

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def serving[Known](answering: type[Answering[Known]], known: Known, *, patient: bool = False) -> Iterator[str]:
    """Its URL. `patient`: answers that are under way at the end are waited for."""
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Served", (answering,), {"known": known})) as server:
        server.daemon_threads = not patient
        thread = threading.Thread(target=server.serve_forever, args=(_LOOK_SECONDS,), name="loopback")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
