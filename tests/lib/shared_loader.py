"""dsa serve, and the jobs that it has."""

import json
import os
import socket
import subprocess

from house import BUILD, DSA, wait_until

JOB = os.path.join(BUILD, "tests/tool/audit_job")


class SharedLoader:
    """Pictures of 32 x 32 bytes, all of them audited. Ends its jobs when it goes."""

    def __init__(self, scratch, datasets, *words, wait=True):
        self.scratch = scratch
        self.socket = scratch.at("socket")
        self.said = scratch.at("said")
        self.audit = scratch.at("audit")
        self.jobs = []
        told = "--json" in words
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(
                [DSA, "serve", *datasets, "--socket", self.socket, "--audit", self.audit,
                 "--size", "32", "--type", "uint8", "--evaluate", *words],
                env=scratch.environment, cwd=scratch.path, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if told else said, stderr=said, text=True)
        if wait:
            wait_until(lambda: self.process.poll() is not None or self.answers())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in [*self.jobs, self.process]:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def job(self, dataset, table, *words, loader=""):
        job = subprocess.Popen(
            [JOB, dataset, "table=" + table, *words],
            env=dict(self.scratch.environment, DSA_SHARE=self.socket,
                     DSA_LOADER=loader),
            cwd=self.scratch.path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.jobs.append(job)
        return job

    def answers(self):
        """A loader that was killed leaves its socket."""
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def connect(self):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.connect(self.socket)
        peer.settimeout(60)
        return peer

    def status(self):
        """What --status shows, without a process for each look."""
        try:
            with self.connect() as peer:
                peer.sendall(b"GET /status HTTP/1.0\r\n\r\n")
                answer = b"".join(iter(lambda: peer.recv(65536), b""))
            return json.loads(answer.partition(b"\r\n\r\n")[2])
        except (OSError, ValueError):
            return {"jobs": []}

    def words(self):
        with open(self.said, encoding="utf-8", errors="replace") as file:
            return file.read()

    def verdict(self):
        with open(self.audit, encoding="utf-8") as file:
            return file.read().splitlines()[-1]


def finish(job):
    """Status and facts of a job."""
    words = job.communicate(timeout=120)[0]
    return job.returncode, words.strip()
