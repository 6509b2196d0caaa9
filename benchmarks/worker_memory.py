"""Measure the CPU time and the memory of the worker function, by which its memory is chosen.

A fresh process imports the handler and executes batches of ten runs: HTTPS calls to a server on this machine, each over
a new connection. AWS is stubbed, so boto3 builds, signs and parses as usual. The CPU time of the stub is subtracted.

    python -m benchmarks.worker_memory
"""

import contextlib
import http.server
import io
import json
import os
import resource
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.common import ROOT, TENANT, Bar, finish, one_off, show
from benchmarks.dispatch_cost import (
    BATCH,
    CREDENTIALS,
    Context,
    a_stubbed_engine,
    sqs_record,
    wired,
    worker_function,
    worker_settings,
)
from onthedot.core.ports import Received
from onthedot.core.send import message_for
from onthedot.jobs.submit import submit_job
from onthedot.targets.types import HttpTarget

ROUNDS: Final = 20
WARM_UP: Final = 2
MB_OF_A_CPU: Final = 1769
"""Lambda gives a function one virtual CPU for this much memory, and less in proportion."""
SIZES: Final = (256, 512, 1024)


class _Quick(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def serve() -> None:
    """Serve HTTPS until the process ends. Print the port. The folder of the certificate is the first argument."""
    folder = Path(sys.argv[2])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Quick)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


def measure() -> None:
    """Execute batches, and print the figures as JSON. The URL of the server is the first argument."""
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    stubbed = a_stubbed_engine(wired)
    settings = worker_settings(allow_private_targets=True)
    handler = worker_function(settings, lambda service, **_: wired(stubbed.stub, service))
    cpu: list[float] = []
    for _ in range(WARM_UP + ROUNDS):
        records = _records(stubbed, sys.argv[2])
        began, stub = time.process_time_ns(), stubbed.stub.cpu_ns
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            handler.handle({"Records": records}, Context())
        cpu.append((time.process_time_ns() - began - (stubbed.stub.cpu_ns - stub)) / 1e6)
        if f'"succeeded":{[1] * BATCH}'.replace(" ", "") not in printed.getvalue():
            raise RuntimeError("a run did not succeed")
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stdout.write(
        json.dumps({"cpu_ms": cpu[WARM_UP:], "peak_mb": peak_kb / 1024, "without_the_handler_mb": before_kb / 1024})
        + "\n"
    )


def _records(stubbed: Any, url: str) -> list[dict[str, Any]]:
    runs = []
    for _ in range(BATCH):
        request = one_off(stubbed.clock.now() + 1)
        request = replace(request, definition=replace(request.definition, target=HttpTarget(url)))
        runs.append(submit_job(stubbed.engine, TENANT, request))
    stubbed.clock.advance(1)
    return [sqs_record(number, Received(message_for(run), "receipt", 1)) for number, run in enumerate(runs)]


def main() -> int:
    """Start the server and the worker, and show the figures for the sizes of a function."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise SystemExit("this benchmark makes a certificate with the openssl command")
    with tempfile.TemporaryDirectory() as folder:
        key = ["-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-days", "2", "-subj", "/CN=localhost"]
        names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        subprocess.run([openssl, "req", "-x509", *key, *names, "-out", "cert.pem"], cwd=folder, check=True, stderr=-3)
        environment = {**os.environ, **CREDENTIALS, "SSL_CERT_FILE": f"{folder}/cert.pem"}
        command = [sys.executable, "-m", "benchmarks.worker_memory"]
        server = subprocess.Popen([*command, "serve", folder], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            url = f"https://localhost:{server.stdout.readline().strip()}/"
            measured = subprocess.run(
                [*command, "measure", url], cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
            ).stdout
        finally:
            server.terminate()
    figures = json.loads(measured.splitlines()[-1])
    batch_ms, peak = statistics.median(figures["cpu_ms"]), figures["peak_mb"]
    rows = [[str(mb), f"{batch_ms * MB_OF_A_CPU / mb:.0f}", f"{peak / mb:.0%}"] for mb in SIZES]
    show(
        f"A batch of ten runs: {batch_ms:.0f} CPU-ms (median), {peak:.0f} MB at most",
        ["memory of the function, MB", "ms of its CPU share", "memory in use"],
        rows,
    )
    bars = [
        Bar("CPU of a batch of ten HTTPS runs", batch_ms, 100, "CPU-ms"),
        Bar("memory of the worker", peak, 256, "MB"),
    ]
    return finish("worker_memory", figures, bars)


if __name__ == "__main__":
    role = {"serve": serve, "measure": measure}.get(sys.argv[1]) if len(sys.argv) > 1 else None
    if role is not None:
        role()
    else:
        sys.exit(main())
