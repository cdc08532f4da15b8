"""An HTTP service that answers for the plugin extender."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Service:
    """A server on the loopback interface; ``answers`` maps a path to a reply or a function."""

    def __init__(self):
        service = self
        self.asked = []
        self.answers = {}
        self.connections = set()
        self.released = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 5

            def do_POST(self):
                length = int(self.headers["Content-Length"])
                body = json.loads(self.rfile.read(length))
                verb = self.path.removeprefix("/api/")
                service.asked.append((verb, body))
                service.connections.add(self.client_address)
                answer = service.answers.get(verb, {})
                if callable(answer):
                    answer(self)
                    return
                status, text = answer if isinstance(answer, tuple) else (200, json.dumps(answer))
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.prefix = f"http://127.0.0.1:{self.server.server_address[1]}/api/"

    def bodies(self, verb):
        return [body for name, body in self.asked if name == verb]

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)


def options(prefix, *verbs, **more):
    named = {f"extender.{verb}Verb": verb for verb in verbs}
    return {"extender.urlPrefix": prefix, **named, **{f"extender.{k}": v for k, v in more.items()}}


def free_port():
    """A port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
