#!/usr/bin/python3
"""The S3 server that other tests use: listings, ranges, signatures, errors, and every way
in which it fails on purpose, as curl and botocore see them. Speaks TAP. SLEEPS most of the
time."""

import hashlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.parse
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import Scratch, Tap, state, wait_until
from process import available
from s3_server import SERVER, S3Server, server_path

KEY = {"key": "AKIAIOSFODNN7EXAMPLE", "secret": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
UNSIGNED = "x-amz-content-sha256: UNSIGNED-PAYLOAD"
OF_NOTHING = "x-amz-content-sha256: " + hashlib.sha256(b"").hexdigest()
AWKWARD = ["with space", "per%cent", "plus+plus", "umlaut-ä/日本", "a&b<c>'\"", "%2F", "a=b;c:d@e",
           "tilde~", "quest?ion#hash", "trailing.", "back\\slash"]
MANY, NAMESPACE = 2500, "{http://s3.amazonaws.com/doc/2006-03-01/}"
BODY = bytes(range(256)) * 40

tap = Tap()


class Answer:
    """What curl got."""

    def __init__(self, status, out, err):
        self.exit, self.err = status, err
        head, _, self.body = out.partition(b"\r\n\r\n")
        lines = head.decode("ascii", "replace").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0] else 0
        self.header = {name.lower(): value.strip() for name, _, value in
                       (line.partition(":") for line in lines[1:])}

    def error(self):
        found = re.search(rb"<Code>(\w+)</Code>", self.body)
        return self.status, found[1].decode() if found else ""


def curl(server, path, *options, base=None):
    done = subprocess.run(["curl", "-sS", "-i", "--max-time", "20", *options,
                           (base or server.url) + path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return Answer(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))


def signed(server, path, *options, key=KEY["key"], secret=KEY["secret"], region="us-east-1",
           payload=UNSIGNED, base=None):
    return curl(server, path, "--aws-sigv4", f"aws:amz:{region}:s3", "--user", f"{key}:{secret}",
                *(("-H", payload) if payload else ()), *options, base=base)


def forged(server, path, now=None, day=None, service="s3", meta=False):
    """A request that says it is signed."""
    now = now or time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    names = "host;x-amz-content-sha256;x-amz-date"
    return curl(server, path, "-H", UNSIGNED, "-H", "x-amz-date: " + now, "-H",
                f"Authorization: AWS4-HMAC-SHA256 Credential={KEY['key']}/{day or now[:8]}/"
                f"us-east-1/{service}/aws4_request, SignedHeaders={names}, Signature={'0' * 64}",
                *(("-H", "x-amz-meta-a: 1") if meta else ()))


def write(scratch, folder, files):
    for key, body in files.items():
        path = scratch.at(folder, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(body)
    return scratch.at(folder)


def pages(server, **parameters):
    """Every page of a listing: [([keys], [prefixes])]."""
    found, token = [], None
    while token is not None or not found:
        query = dict(parameters, **({"continuation-token": token} if token else {}))
        answer = curl(server, "/bucket?" + urllib.parse.urlencode({"list-type": 2, **query}))
        page = xml.fromstring(answer.body)
        found.append(([key.text for key in page.iter(NAMESPACE + "Key")],
                      [common.find(NAMESPACE + "Prefix").text
                       for common in page.iter(NAMESPACE + "CommonPrefixes")]))
        token = page.findtext(NAMESPACE + "NextContinuationToken")
    return found


def check_listing(scratch):
    keys = [f"train/{i % 5}/{i:05}.jpg" for i in range(MANY)]
    folder = write(scratch, "many", {**{key: b"x" for key in keys}, "readme": b"?"})
    with S3Server(scratch, folder) as server:
        found = pages(server, prefix="train/")
        tap.ok([len(page) for page, _ in found] == [1000, 1000, 500] and
               sum((page for page, _ in found), []) == sorted(keys),
               "a listing of 2,500 keys has three pages", [len(page) for page, _ in found])
        tap.ok(pages(server, delimiter="/") == [(["readme"], ["train/"])] and
               sum((prefixes for _, prefixes in pages(server, delimiter="/", prefix="train/",
                                                      **{"max-keys": 2})), []) ==
               [f"train/{i}/" for i in range(5)], "a delimiter makes folders, on pages, too")
        last = sorted(keys)[-2]
        tap.ok(pages(server, **{"start-after": last, "prefix": "train"}) ==
               [([sorted(keys)[-1]], [])], "a listing may begin after a key")
        for query in "max-keys=x", "continuation-token=%21":
            answer = curl(server, "/bucket?list-type=2&" + query)
            tap.ok(answer.error() == (400, "InvalidArgument"), f"{query} is refused", answer.body)
        os.unlink(scratch.at("many", "readme"))
        tap.ok(pages(server, delimiter="/") == [([], ["train/"])], "a new listing is of now")
        server.stop()
        log = server.log()
        tap.ok([(row.status, row.connection) for row in log[:3]] == [(200, 1), (200, 2), (200, 3)]
               and len(log) == 3 + 1 + 3 + 1 + 2 + 1 and
               all(row.target.startswith("/bucket?list-type=2") for row in log),
               "each page is a line of the log", *log)


def check_objects(scratch):
    folder = write(scratch, "objects", {"a/body": BODY, "empty": b"",
                                        **{key: key.encode() for key in AWKWARD}})
    with S3Server(scratch, folder) as server:
        path = server_path("a/body")
        whole = curl(server, path)
        tap.ok(whole.status == 200 and whole.body == BODY, "an object", whole.err)
        for text, part in (("0-0", BODY[:1]), ("10-19", BODY[10:20]), ("10000-", BODY[10000:]),
                           ("-5", BODY[-5:]), ("-99999", BODY), ("10239-99999", BODY[-1:])):
            answer = curl(server, path, "-r", text)
            start = len(BODY) - len(part) if text.startswith("-") else int(text.split("-")[0])
            tap.ok(answer.status == 206 and answer.body == part and
                   answer.header["content-range"] ==
                   f"bytes {start}-{start + len(part) - 1}/{len(BODY)}", f"range {text}",
                   answer.header)
        for key, text in (("a/body", "10240-"), ("a/body", "-0"), ("empty", "0-9")):
            answer = curl(server, server_path(key), "-r", text)
            tap.ok(answer.error() == (416, "InvalidRange"), f"range {text} of {key}",
                   answer.header)
        for text in "bytes=5-2", "bytes=x", "bytes=0-1,4-5", "lines=1-2":
            answer = curl(server, path, "-H", "Range: " + text)
            tap.ok((answer.status, answer.body) == (200, BODY), f"{text} is no range")
        head = curl(server, path, "-I")
        tap.ok(head.status == 200 and head.header["content-length"] == str(len(BODY)) and
               head.header["etag"] == whole.header["etag"], "HEAD", head.header)
        tap.ok(curl(server, "/a/body", "-H", "Host: bucket.localhost").body == BODY and
               curl(server, "/", "-H", "Host: bucket.localhost").status == 501,
               "virtual-host style")
        for wanted, what in (((404, "NoSuchKey"), server_path("missing")),
                             ((404, "NoSuchKey"), server_path("a")),
                             ((404, "NoSuchKey"), "/bucket/a/../empty"),
                             ((404, "NoSuchKey"), "/bucket//a/body"),
                             ((404, "NoSuchBucket"), "/other/a"),
                             ((400, "BadRequest"), "/bucket/%zz")):
            answer = curl(server, what, "--path-as-is")
            tap.ok(answer.error() == wanted, f"{what}: {wanted[1]}", answer.body)
        tap.ok(curl(server, "/bucket/with+space").body == b"with space" and
               curl(server, "/bucket/plus+plus").status == 404, "a + in a path is a space")
        tap.ok(curl(server, path, "-X", "DELETE").error() == (405, "MethodNotAllowed") and
               os.path.exists(os.path.join(folder, "a/body")), "it only reads")
        match = ["-H", "If-Match: " + whole.header["etag"]]
        tap.ok(curl(server, path, *match).status == 200, "an ETag that matches")
        write(scratch, "objects", {"a/new": BODY[::-1]})
        os.replace(scratch.at("objects", "a/new"), scratch.at("objects", "a/body"))
        answer = curl(server, path, *match)
        tap.ok(answer.error() == (412, "PreconditionFailed"), "an object that was replaced",
               answer.body)
        tap.ok(sorted(key for page, _ in pages(server) for key in page) ==
               sorted([*AWKWARD, "a/body", "empty"], key=lambda key: key.encode()),
               "awkward keys in a listing")


def check_signatures(scratch):
    folder = write(scratch, "signed", {"a/body": BODY, **{key: key.encode() for key in AWKWARD}})
    path, listing = server_path("a/body"), "/bucket?list-type=2&max-keys=3&prefix=a%2F"
    with S3Server(scratch, folder, **KEY) as server:
        for name, answer in {
                "GET": signed(server, path), "of nothing": signed(server, path, payload=OF_NOTHING),
                "a range": signed(server, path, "-H", "Range: bytes=0-9"),
                "a listing": signed(server, listing)}.items():
            tap.ok(answer.status in (200, 206), f"curl signs {name}", answer.body)
        bad = [key for key in AWKWARD
               if signed(server, server_path(key)).body != key.encode()]
        tap.ok(not bad, "curl signs awkward keys", bad)
        for wanted, answer in {
                (403, "AccessDenied"): curl(server, path),
                (403, "InvalidAccessKeyId"): signed(server, path, key="AKIDNONE"),
                (403, "SignatureDoesNotMatch"): signed(server, path, secret="wrong"),
                (400, "AuthorizationHeaderMalformed"): signed(server, path, region="eu-west-1"),
                (400, "InvalidRequest"): signed(server, path, payload=None),
                (400, "InvalidArgument"): signed(server, path,
                                                 payload="x-amz-content-sha256: none"),
                (400, "XAmzContentSHA256Mismatch"): signed(
                    server, path, payload="x-amz-content-sha256: " + "0" * 64),
                (400, "InvalidToken"): signed(server, path, "-H", "x-amz-security-token: t"),
                }.items():
            tap.ok(answer.error() == wanted, wanted[1], answer.status, answer.body)
        host = f"bucket.localhost:{server.port}"
        answer = signed(server, "/a/body", "--connect-to", f"{host}:127.0.0.1:{server.port}",
                        base=f"http://{host}")
        tap.ok(answer.body == BODY, "curl signs in virtual-host style", answer.err, answer.body)
        answer = signed(server, path, region="eu-west-1")
        tap.ok(b"<Region>us-east-1</Region>" in answer.body, "the region is told", answer.body)
        tap.ok(curl(server, path, "-H", "Authorization: AWS id:sig").error() ==
               (400, "InvalidRequest"), "version 2 is refused")
        for wanted, told, more in (
                ((403, "AccessDenied"), b"<HeadersNotSigned>x-amz-meta-a<", {"meta": True}),
                ((403, "AccessDenied"), b"a valid Date or x-amz-date", {"now": "yesterday"}),
                ((400, "AuthorizationHeaderMalformed"), b"credential date", {"day": "20130524"}),
                ((400, "AuthorizationHeaderMalformed"), b"service", {"service": "ec2"}),
                ((403, "SignatureDoesNotMatch"), b"<SignatureProvided>0000", {})):
            answer = forged(server, path, **more)
            tap.ok(answer.error() == wanted and told in answer.body, f"forged: {told.decode()}",
                   answer.body)
        server.stop()
        signers = [row.signer for row in server.log()]
        tap.ok(signers.count(KEY["key"]) == len(signers) - 3 and signers.count("-") == 1 and
               "AKIDNONE" in signers, "the log tells who signed", signers)
    with S3Server(scratch, folder, ahead="20m", **KEY) as server:
        answer = signed(server, path)
        tap.ok(answer.error() == (403, "RequestTimeTooSkewed") and
               b"<MaxAllowedSkewMilliseconds>900000<" in answer.body, "RequestTimeTooSkewed",
               answer.body)
    with S3Server(scratch, folder, ahead="14m", anonymous=True, **KEY) as server:
        tap.ok(signed(server, path).status == 200, "a clock may be off by some minutes")
        tap.ok(curl(server, path).status == 200 and
               signed(server, path, secret="wrong").status == 403,
               "an anonymous bucket serves both, but checks what is signed")
    token = ["-H", "x-amz-security-token: TOKEN/+="]
    with S3Server(scratch, folder, token="TOKEN/+=", **KEY) as server:
        tap.ok(signed(server, path, *token).status == 200 and
               signed(server, path).error() == (403, "InvalidAccessKeyId"), "a session's token")
    with S3Server(scratch, folder, token="TOKEN/+=", expired=True, **KEY) as server:
        tap.ok(signed(server, path, *token).error() == (400, "ExpiredToken"), "ExpiredToken")


def said(server, *pieces):
    """What the server says until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as wire:
        for piece in pieces:
            wire.sendall(piece)
        heard = b""
        while more := wire.recv(65536):
            heard += more
        return heard


def check_wire(scratch):
    get = f"GET {server_path('a/body')} HTTP/1.1\r\nHost: h\r\n".encode()
    last = get + b"Connection: close\r\n\r\n"
    with S3Server(scratch, scratch.at("signed")) as server:
        heard = said(server, get + b"\r\n" + get + b"\r\n" + last)
        tap.ok(heard.count(b"HTTP/1.1 200") == 3 and heard.endswith(BODY) and
               heard.count(BODY) == 3, "three requests in one piece")
        heard = said(server, *(last[i:i + 1] for i in range(len(last))))
        tap.ok(heard.endswith(b"\r\n\r\n" + BODY), "one request in many pieces")
        tap.ok(said(server, b"rubbish\r\n\r\n").startswith(b"HTTP/1.1 400"), "no request")
        try:
            heard = said(server, get + b"x: " + b"x" * 10000)
        except ConnectionError:
            heard = b""
        tap.ok(heard == b"", "a head without end ends the connection")
        with socket.create_connection(("127.0.0.1", server.port)):
            tap.ok(curl(server, server_path("a/body")).body == BODY, "one that says nothing")
        server.stop()
        tap.ok([(row.connection, row.status) for row in server.log()] ==
               [(1, 200)] * 3 + [(2, 200), (3, 400), (6, 200)], "and the log of it",
               *server.log())


def check_botocore(scratch):
    if not available("botocore"):
        tap.skip("botocore reads the bucket", "there is no python3-botocore")
        return
    import botocore.config
    import botocore.exceptions
    import botocore.session

    def client(server, secret, token):
        return botocore.session.Session().create_client(
            "s3", "us-east-1", endpoint_url=server.url, aws_access_key_id=KEY["key"],
            aws_secret_access_key=secret, aws_session_token=token,
            config=botocore.config.Config(s3={"addressing_style": "path"},
                                          retries={"total_max_attempts": 1}))

    with S3Server(scratch, scratch.at("many"), token="TOKEN", **KEY) as server:
        s3 = client(server, KEY["secret"], "TOKEN")
        found = [len(page["Contents"]) for page in
                 s3.get_paginator("list_objects_v2").paginate(Bucket="bucket")]
        tap.ok(found == [1000, 1000, 500], "botocore lists three pages", found)
    with S3Server(scratch, scratch.at("signed"), token="TOKEN", **KEY) as server:
        s3 = client(server, KEY["secret"], "TOKEN")
        listed = {entry["Key"]: entry for entry in s3.list_objects_v2(Bucket="bucket")["Contents"]}
        bad = [key for key, entry in listed.items()
               if s3.get_object(Bucket="bucket", Key=key, IfMatch=entry["ETag"])["Body"].read() !=
               (BODY if key == "a/body" else key.encode())]
        tap.ok(set(listed) == {*AWKWARD, "a/body"} and not bad,
               "botocore reads awkward keys with the ETags listed", listed, bad)
        part = s3.get_object(Bucket="bucket", Key="a/body", Range="bytes=5-9")
        tap.ok(part["Body"].read() == BODY[5:10] and
               s3.head_object(Bucket="bucket", Key="a/body")["ContentLength"] == len(BODY),
               "botocore reads a range, and asks for the size")
        try:
            client(server, "wrong", "TOKEN").get_object(Bucket="bucket", Key="a/body")
            code = None
        except botocore.exceptions.ClientError as error:
            code = error.response["Error"]["Code"]
        tap.ok(code == "SignatureDoesNotMatch", "botocore's wrong secret", code)


def check_faults(scratch):
    path, folder = server_path("a/body"), scratch.at("signed")
    for fault, wanted in (("slowdown", (503, "SlowDown")), ("toomany", (429, "TooManyRequests")),
                          ("internal", (500, "InternalError")),
                          ("forbidden", (403, "AccessDenied"))):
        with S3Server(scratch, folder, faults=fault + ":100%", times=1) as server:
            tap.ok(curl(server, path).error() == wanted and curl(server, path).body == BODY,
                   f"{fault}, once")
            server.stop()
            tap.ok([(row.status, row.fault) for row in server.log()] ==
                   [(wanted[0], fault), (200, "-")], f"{fault} is logged", *server.log())
    with S3Server(scratch, folder, faults="truncate:100%", only="a/") as server:
        answer = curl(server, path)
        tap.ok(answer.exit == 18 and BODY.startswith(answer.body) and
               answer.header["content-length"] == str(len(BODY)) and
               curl(server, server_path("tilde~")).body == b"tilde~", "a truncated body",
               answer.exit, answer.err)
        server.stop()
        tap.ok([(row.bytes, row.fault) for row in server.log()] ==
               [(len(answer.body), "truncate"), (6, "-")], "and in the log", *server.log())
    with S3Server(scratch, folder, faults="reset:100%") as server:
        exits = {curl(server, server_path(key)).exit for key in ["a/body"] * 8}
        tap.ok(exits <= {52, 56} and 56 in exits, "resets", exits)
    with S3Server(scratch, folder, faults="trickle:100%") as server:
        answer = curl(server, path, "--max-time", "1.7")
        tap.ok(answer.exit == 28 and answer.body == BODY[:1], "one byte a second", answer.err)
        server.stop()
        tap.ok([(row.bytes, row.fault) for row in server.log()] == [(1, "gone")],
               "the client went away", *server.log())
    with S3Server(scratch, folder, **KEY) as other:
        with S3Server(scratch, folder, faults="redirect:100%", redirect=other.url, **KEY) as server:
            answer = signed(server, path)
            tap.ok(answer.status == 307 and answer.header["location"] == other.url + path,
                   "a redirect", answer.header)
            signed(server, path, "-L")
        other.stop()
        tap.ok([(row.status, row.signer) for row in other.log()] == [(403, "-")],
               "no credentials follow it", *other.log())


def seeded_faults(scratch, seed):
    """Of 200 objects, asked for in one run of curl: who met which fault."""
    with S3Server(scratch, scratch.at("many"), seed=seed,
                  faults="slowdown:10%,toomany:5%,truncate:5%") as server:
        config = "".join(f'url = "{server.url}{server_path(f"train/{i % 5}/{i:05}.jpg")}"\n'
                         'output = "/dev/null"\n' for i in range(200))
        subprocess.run(["curl", "-sS", "--parallel", "--parallel-max", "16", "-K", "-"],
                       input=config.encode(), stderr=subprocess.DEVNULL, check=False)
        server.stop()
        return {row.target: row.fault for row in server.log()}, server.log()


def check_seed(scratch):
    (first, log), (again, _), (other, _) = (seeded_faults(scratch, seed) for seed in (1, 1, 2))
    count = sum(fault != "-" for fault in first.values())
    tap.ok(first == again and first != other and len(first) == len(log) == 200,
           "a seed gives each object its fault, in any order of requests")
    tap.ok(15 <= count <= 70, "about as many as wanted", count)
    tap.ok(len({row.connection for row in log}) < 80, "connections are kept",
           len({row.connection for row in log}))


def check_times(scratch):
    path, folder = server_path("a/body"), scratch.at("signed")
    clock = ["-w", "%{stderr}%{time_starttransfer} %{time_total}"]
    with S3Server(scratch, folder, latency="100ms", jitter="20ms") as server:
        times = [float(curl(server, path, *clock).err.split()[0]) for _ in range(4)]
        tap.ok(min(times) >= .1 and len(set(times)) > 1, "latency, with jitter", times)
    with S3Server(scratch, folder, bandwidth="40K") as server:
        urls = [word for _ in range(2) for word in ("-o", "/dev/null", server.url + path)]
        done = subprocess.run(["curl", "-sS", "--parallel", "-w", "%{time_total}\n", *urls],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False)
        slowest = max(float(word) for word in done.stdout.split())
        tap.ok(slowest >= .9 * 2 * len(BODY) / 40e3, "a bandwidth that two share", done.stdout)
    with S3Server(scratch, folder, pause_after=2, pause=".7s") as server:
        times = [float(curl(server, path, *clock).err.split()[1]) for _ in range(3)]
        tap.ok(times[1] >= .7 > times[0] and times[2] < .7, "the server pauses", times)
    with S3Server(scratch, folder, rate=3) as server:
        found = [curl(server, path).status for _ in range(6)]
        tap.ok(found[:3] == [200] * 3 and 429 in found, "more than its rate: 429", found)
    with S3Server(scratch, folder, change_after=2) as server:
        etags = [curl(server, path).header["etag"] for _ in range(4)]
        tap.ok(etags[0] == etags[1] != etags[2] == etags[3], "ETags that change", etags)
    with S3Server(scratch, folder, die_after=2) as server:
        found = [curl(server, path).exit for _ in range(2)]
        tap.ok(found[0] == 0 and found[1] in (52, 56) and server.process.wait() == 0 and
               [row.fault for row in server.log()] == ["-", "gone"], "it dies for good", found)


def check_process(scratch):
    for words in (["--nothing=1"], ["--key=a"], ["--anonymous=1"], ["--faults=odd:1%"],
                  ["--faults=redirect:1%"]):
        done = subprocess.run([SERVER, *words, scratch.path], stderr=subprocess.PIPE, check=False)
        tap.ok(done.returncode == 2 and done.stderr.startswith(b"s3_server: "),
               f"{words[0]} is refused", done.stderr)
    with open(write(scratch, ".", {"odd.xml": b"<odd/>"}) + "/odd.xml", "rb") as odd, \
            S3Server(scratch, scratch.at("signed"), listing=odd.name) as server:
        tap.ok(curl(server, "/bucket?list-type=2").body == odd.read(), "a listing of one's own")
    parent = subprocess.Popen(["sh", "-c", '"$@" & echo $!; wait', "sh", SERVER, scratch.path],
                              stdout=subprocess.PIPE)
    pid = int(parent.stdout.readline())
    parent.stdout.readline()
    parent.kill()
    parent.wait()
    tap.ok(wait_until(lambda: state(pid) in (None, "Z")), "it ends with its parent")
    parent.stdout.close()


def main():
    with Scratch() as scratch:
        check_listing(scratch)
        check_objects(scratch)
        check_signatures(scratch)
        check_wire(scratch)
        check_botocore(scratch)
        check_faults(scratch)
        check_seed(scratch)
        check_times(scratch)
        check_process(scratch)
    tap.done()


main()
