"""The S3 server of tests/tool, which serves a folder, and what it logged."""

import collections
import os
import subprocess
import time
import urllib.parse

from house import BUILD

SERVER = os.path.join(BUILD, "tests/tool/s3_server")
Request = collections.namedtuple(
    "Request", "began connection method target range status bytes signer fault")


def server_path(key, bucket="bucket"):
    """Of an object in a URL: path style."""
    return f"/{bucket}/" + urllib.parse.quote(key, safe="/~")


class S3Server:
    """Serves a folder until stop(); settings are those of the program: bucket="b",
    change_after=3, anonymous=True. It ends with the thread that makes this."""

    def __init__(self, scratch, folder, **settings):
        self.log_path = scratch.at(f"s3-{os.urandom(4).hex()}.log")
        words = [f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}")
                 for name, value in settings.items()]
        self.process = subprocess.Popen([SERVER, f"--log={self.log_path}", *words, folder],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline() or 0)
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Ends it; returns its exit status. The log is complete then."""
        self.process.terminate()
        self.process.stdout.close()
        return self.process.wait()

    def is_busy(self):
        """Between an answer and its line in the log it runs, or would if it were let."""
        try:
            with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
                return file.read().rpartition(")")[2].split()[0] in "RD"
        except FileNotFoundError:
            return False

    def log(self):
        """What was answered so far."""
        while self.is_busy():
            time.sleep(.001)
        with open(self.log_path, encoding="ascii") as file:
            rows = [line.rstrip("\n").split("\t") for line in file if line.endswith("\n")]
        return [Request(float(began), int(connection), method, target, wanted, int(status),
                        int(size), signer, fault)
                for began, connection, method, target, wanted, status, size, signer, fault
                in rows]
