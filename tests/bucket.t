#!/usr/bin/python3
"""Training from a bucket and from a web server: the samples and labels of the same tree on
disk, requests that are counted at the server, every way in which a server can fail, and
shares that follow from its latency. Speaks TAP. SLEEPS most of the time. SOAK=1: 100 seeded
faulty servers instead of 2, shares within two points, and what-ifs that are tried."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import wave

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/lib")
from house import BUILD, DSA, TRAIN, Scratch, Tap, is_pace, middle_rates, middle_stalls
from nginx import Nginx
from s3_server import S3Server, server_path

SOAK = bool(os.environ.get("SOAK"))
DUMP = os.path.join(BUILD, "tests/tool/batch_dump")
ID, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "t/+=oken"
SIGNED = {"key": ID, "secret": SECRET}
KEYS = {"AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": SECRET}
CLASSES, EACH = 3, 14
COUNT = CLASSES * EACH
AWKWARD = ["with space", "per%cent", "plus+plus", "umlaut-ä/日本", "a&b<c>'\"", "%2F", "a=b;c:d@e",
           "tilde~", "quest?ion#hash", "back\\slash", "new\nline"]
LISTING = ('<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{}'
           "</ListBucketResult>")
OBJECT = "<Contents><Key>{}</Key><ETag>\"e\"</ETag><Size>{}</Size></Contents>"
HOSTILE = {
    "entities": '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>' +
                LISTING.format(OBJECT.format("a/&b;.jpg", 1)),
    "no XML": "hello",
    "another root": "<html/>",
    "too deep": LISTING.format("<a>" * 50 + "</a>" * 50),
    "the same page for ever": LISTING.format(
        "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>" +
        OBJECT.format("a/1.jpg", 1)),
    "pages without a key": LISTING.format(
        "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"),
    "no next page": LISTING.format("<IsTruncated>true</IsTruncated>"),
    "a header in an ETag": LISTING.format(
        OBJECT.format("a/1.jpg", 1).replace('"e"', '"e&#13;&#10;Evil: 1"')),
    "a size that is none": LISTING.format(OBJECT.format("a/1.jpg", -1)),
    "a text without end": LISTING.format(OBJECT.format("a/" + "k" * 100000 + ".jpg", 1)),
}

tap = Tap()


class Bucket(S3Server):
    """A server, and programs that are told of it."""

    def __init__(self, scratch, folder, variables=(), **settings):
        super().__init__(scratch, folder, **settings)
        self.scratch = scratch
        self.variables = {"AWS_ENDPOINT_URL_S3": self.url, "HOME": scratch.path,
                          "XDG_CACHE_HOME": scratch.folder("cache-" + os.urandom(4).hex()),
                          **dict(variables)}

    def run(self, *command, variables=(), **more):
        return self.scratch.run(*command, variables={**self.variables, **dict(variables)}, **more)

    def dump(self, dataset="s3://bucket/", options="", ahead=(), **more):
        """One epoch: (samples, lines), or None; then what was said."""
        table = self.scratch.at("dump-" + os.urandom(4).hex())
        done = self.run(*ahead, DUMP, dataset, table, variables={
            "DSA_LOADER": "prep=raw,size=64,batch=7,epochs=1,workers=2" + options,
            **more.pop("variables", {})}, **more)
        if done.returncode != 0:
            return None, done.stderr
        with open(table, "rb") as file:
            return (file.read(), done.stdout), done.stderr

    def gets(self):
        return [row for row in self.log() if "list-type" not in row.target]

    def listings(self):
        return [row for row in self.log() if "list-type" in row.target]


def one_line(text, *words):
    """A single line of an error, with all of these."""
    return text.count("\n") == 1 and all(word in text for word in words)


def pictures(scratch, folder, names, source):
    """Copies of a picture, of different ones, under these names."""
    for name, original in zip(names, source):
        path = scratch.at(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(original, path)
    return scratch.at(folder)


def on_disk(scratch, dataset):
    """What a tree of files gives."""
    table = scratch.at("dump-disk")
    done = scratch.run(DUMP, dataset, table, variables={
        "DSA_LOADER": "prep=raw,size=64,batch=7,epochs=1,workers=2"})
    with open(table, "rb") as file:
        return file.read(), done.stdout


def check_same(scratch, folder, disk):
    with Bucket(scratch, folder, **SIGNED) as server:
        got, said = server.dump(variables=KEYS)
        tap.ok(got == disk, "the samples, labels and order of the tree", said)
        tap.ok(len(server.listings()) == 1 and len(server.gets()) == COUNT and
               len({row.target for row in server.gets()}) == COUNT and
               {row.signer for row in server.log()} == {ID},
               "one listing and one GET a sample, all signed", len(server.log()))
        got, said = server.dump(variables=KEYS)
        tap.ok(got == disk and len(server.listings()) == 2 and
               "max-keys=1&" in server.listings()[1].target and
               len(server.gets()) == 2 * COUNT, "a listing that was kept costs one request", said)
        got, said = server.dump(variables={**KEYS, "AWS_SECRET_ACCESS_KEY": "none"})
        tap.ok(got is None and one_line(said, "SignatureDoesNotMatch") and
               len(server.listings()) == 3 and len(server.gets()) == 2 * COUNT,
               "and tells by that who may not read", said)
        got, said = server.dump(options=",relist=1", variables=KEYS)
        tap.ok(got == disk and len(server.listings()) == 4 and
               "max-keys=1000" in server.listings()[3].target, "relist lists anew", said)
        told = [json.loads(server.run(DSA, "dataset", "inspect", "--json", place,
                                      variables=KEYS).stdout or "{}")
                for place in (folder, "s3://bucket")]
        for one in told:
            one.pop("path", None)
        tap.ok(told[0] == told[1] and told[0], "dsa dataset inspect says the same", *told)
        got, said = server.dump("s3://bucket/checks", variables=KEYS)
        tap.ok(got is not None and len(got[0]) * CLASSES == len(disk[0]), "a prefix", said)
        for dataset, wanted in (("s3://", "no name of a bucket"), ("s3://a b/", "no name"),
                                ("s3://bucket/none", "no pictures"), ("s3://other", "no such")):
            got, said = server.dump(dataset, variables=KEYS)
            tap.ok(got is None and one_line(said, wanted), f"{dataset}: {wanted}", said)


def check_names(scratch, originals):
    names = [f"{i % 2}/{name}.jpg" for i, name in enumerate(AWKWARD)]
    folder = pictures(scratch, "awkward", [*names, ".hidden/x.jpg", "0/readme", "top.jpg"],
                      originals)
    with Bucket(scratch, folder, token=TOKEN, **SIGNED) as server:
        got, said = server.dump(variables={**KEYS, "AWS_SESSION_TOKEN": TOKEN})
        tap.ok(got is not None and sorted(row.target for row in server.gets()) ==
               sorted(server_path(name) for name in names), "awkward names are signed, too",
               said, *server.gets())
    with Bucket(scratch, folder) as server:
        got, said = server.dump()
        tap.ok(got == on_disk(scratch, folder), "anonymous, and the same as on disk", said)


def check_many(scratch, originals):
    """More keys than a page has: a request for each 1,000."""
    count = 2 * 1000 + 1
    for i in range(count):
        path = scratch.at("many", str(i % 3), f"{i}.jpg")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.link(originals[0], path)
    with Bucket(scratch, scratch.at("many")) as server:
        got, said = server.dump(options=",steps=1")
        tap.ok(got is not None and len(server.listings()) == -(-count // 1000) and
               len({row.target for row in server.listings()}) == len(server.listings()),
               "a listing of several pages", said, *server.listings())
        told = json.loads(server.run(DSA, "doctor", "--json", "s3://bucket/").stdout)
        tap.ok(any(f"{count} samples" in one["found"].replace(",", "")
                   for one in told["checks"]), "has all of them", told)


def check_settings(scratch, folder, disk):
    """Credentials, region and endpoint, from each place that may have them."""
    with open(scratch.at("credentials"), "w", encoding="ascii") as file:
        file.write(f"[other]\naws_access_key_id = no\naws_secret_access_key = no\n"
                   f"# a comment\n[mine]\naws_access_key_id={ID}\n"
                   f"aws_secret_access_key = {SECRET}\n")
    with open(scratch.at("config"), "w", encoding="ascii") as file:
        file.write("[profile mine]\nregion = eu-west-9\ns3 =\n  addressing_style = path\n"
                   "[profile role]\nrole_arn = arn:aws:iam::1:role/x\n")
    files = {"AWS_SHARED_CREDENTIALS_FILE": scratch.at("credentials"),
             "AWS_CONFIG_FILE": scratch.at("config")}
    with Bucket(scratch, folder, files, region="eu-west-9", **SIGNED) as server:
        for name, variables in {
                "the profile": {"AWS_PROFILE": "mine"},
                "the environment before the profile":
                    {**KEYS, "AWS_PROFILE": "other", "AWS_REGION": "eu-west-9"},
                "AWS_REGION before AWS_DEFAULT_REGION":
                    {**KEYS, "AWS_REGION": "eu-west-9", "AWS_DEFAULT_REGION": "no"},
                "AWS_ENDPOINT_URL_S3 before AWS_ENDPOINT_URL":
                    {"AWS_PROFILE": "mine", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"},
                "AWS_ENDPOINT_URL": {"AWS_PROFILE": "mine", "AWS_ENDPOINT_URL_S3": "",
                                     "AWS_ENDPOINT_URL": server.url + "/"}}.items():
            got, said = server.dump(variables=variables)
            tap.ok(got == disk, name, said)
        for wanted, variables in {
                "AWS_PROFILE is 'none'": {"AWS_PROFILE": "none"},
                "by role_arn": {"AWS_PROFILE": "role"},
                "without its secret": {"AWS_ACCESS_KEY_ID": ID},
                "is no URL": {"AWS_ENDPOINT_URL_S3": "https://me:secret@host"},
                "set AWS_REGION": {**KEYS, "AWS_REGION": "us-east-1"}}.items():
            got, said = server.dump(variables=variables)
            tap.ok(got is None and one_line(said, wanted), wanted, said)


def check_refused(scratch, folder):
    """One line each, status 3, and no secret anywhere."""
    wrong = {**KEYS, "AWS_SECRET_ACCESS_KEY": "not-" + SECRET}
    for wanted, variables, settings in (
            ("SignatureDoesNotMatch", wrong, {}),
            ("InvalidAccessKeyId", {**KEYS, "AWS_ACCESS_KEY_ID": "AKIDNONE"}, {}),
            ("ExpiredToken", KEYS, {"expired": True}),
            ("30 min behind the server's", KEYS, {"ahead": "30m"}),
            ("may not be read", {}, {})):
        with Bucket(scratch, folder, **SIGNED, **settings) as server:
            got, said = server.dump(options=",on_error=skip", variables=variables)
            tap.ok(got is None and one_line(said, wanted), wanted, said)
            if wanted != "SignatureDoesNotMatch":
                continue
            done = server.run(DSA, "run", "-o", "refused", "--", TRAIN, "--dataset", "s3://bucket/",
                              variables=variables)
            tap.ok(done.returncode == 3 and wanted in done.stderr, "and dsa run ends with 3",
                   done.returncode, done.stderr)
            tap.ok("not-" + SECRET not in said + done.stderr + done.stdout and
                   subprocess.run(["grep", "-rqF", SECRET, scratch.path, "--exclude=credentials"],
                                  check=False).returncode == 1, "no secret is told")


def command_lines():
    """Of all processes."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                yield file.read()
        except OSError:
            pass


def check_secret(scratch, folder):
    """A run that works tells of its credentials their names alone: not in its result and
    report, what it says, what is kept of the listing, or a command line."""
    keys = {**KEYS, "AWS_SESSION_TOKEN": TOKEN}
    secrets = [text.encode() for text in (ID, SECRET, TOKEN)]
    with Bucket(scratch, folder, token=TOKEN, **SIGNED) as server:
        running = subprocess.Popen(
            [DSA, "run", "-v", "-o", "secret", "--budget", "3s", "--max-requests", "100000", "--",
             TRAIN, "--dataset", "s3://bucket/", "--size", "32"], cwd=scratch.path, text=True,
            env={**scratch.environment, **server.variables, **keys}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        seen = set()
        while running.poll() is None:
            seen.update(command_lines())
            time.sleep(.1)
        said = running.stdout.read()
        texts = [said] + [server.run(DSA, *words, variables=keys).stdout for words in
                          (("report", "secret"), ("report", "secret", "--format=html"),
                           ("doctor", "s3://bucket/"))]
        ours = [line for line in seen if b"s3://bucket/" in line and b"s3_server" not in line]
        kept = subprocess.run(
            ["grep", "-rlaF", *(word for text in secrets for word in ("-e", text)), "secret",
             server.variables["XDG_CACHE_HOME"]], cwd=scratch.path, check=False,
            stdout=subprocess.PIPE).stdout
        tap.ok(running.returncode in (0, 3) and "GETs" in said and  # 3: a busy machine
               "AWS_ACCESS_KEY_ID" in texts[-1] and len(ours) >= 2,
               "a run with a session token", said, *ours)
        tap.ok(not kept and not any(secret in text for secret in secrets
                                    for text in [*ours, *(text.encode() for text in texts)]),
               "tells nothing of it", kept, *ours, *texts)


def check_expires(scratch, folder):
    """A token that expires in the middle: for every request from then on, not for a sample."""
    with Bucket(scratch, folder, expire_after=COUNT // 2, **SIGNED) as server:
        got, said = server.dump(options=",on_error=skip", variables=KEYS)
        tap.ok(got is None and one_line(said, "the session token has expired", "ExpiredToken"),
               "a token that expires in the middle ends the loader", said)
    with Bucket(scratch, folder, expire_after=10 * COUNT, **SIGNED) as server:
        done = server.run(DSA, "run", "-q", "-o", "expired", "--budget", "60s", "--max-requests", "100000",
                          "--on-error", "skip", "--", TRAIN, "--dataset", "s3://bucket/",
                          "--size", "32", variables=KEYS)
        tap.ok(done.returncode == 3 and "ExpiredToken" in done.stderr,
               "and dsa run with 3", done.returncode, done.stderr)


def check_faults(scratch, folder, disk):
    """Nothing lost, nothing twice, nothing wrong."""
    for seed in range(100 if SOAK else 2):
        with Bucket(scratch, folder, seed=seed, times=1, faults="slowdown:12%,toomany:8%,"
                    "internal:8%,reset:12%,truncate:12%") as server:
            got, said = server.dump()
            faulty = sum(row.fault != "-" for row in server.gets())
            if not tap.ok(got == disk and len(server.gets()) == COUNT + faulty > COUNT,
                          f"faults are tried again (seed {seed})", said, faulty):
                break
    one = sorted(os.listdir(os.path.join(folder, "checks")))[0]
    for fault, wanted in (("forbidden:100%", "may not be read"),
                          ("archived:100%", "restore it"),
                          ("redirect:100%", "leads elsewhere")):
        with S3Server(scratch, folder, **SIGNED) as other, \
                Bucket(scratch, folder, faults=fault, only="checks/" + one, redirect=other.url,
                       **SIGNED) as server:
            got, said = server.dump(variables=KEYS)
            tap.ok(got is not None and len(got[0]) // (len(disk[0]) // COUNT) == COUNT - 1,
                   f"{fault}: a sample less", said)
            got, said = server.dump(options=",on_error=fail", variables=KEYS)
            tap.ok(got is None and one_line(said, one, wanted), f"on_error=fail: {wanted}", said)
            tap.ok(not other.log(), "no request follows a redirect", *other.log())


def check_away(scratch, folder, disk):
    """A server that is away for a while costs time alone; one that dies ends the data."""
    for seed in range(100 if SOAK else 1):
        after = 4 + seed * 17 % (COUNT - 3)  # the listing may take three
        with Bucket(scratch, folder, seed=seed, pause_after=after, pause="30s" if SOAK and
                    seed == 0 else "500ms", times=1, faults="reset:5%,truncate:5%") as server:
            got, said = server.dump(options="" if SOAK and seed == 0 else ",deadline=4s")
            if not tap.ok(got == disk, f"a server that is away loses nothing (after {after})",
                          said):
                break
        with Bucket(scratch, folder, seed=seed, die_after=after,
                    faults="reset:5%,internal:5%") as server:
            got, said = server.dump(options=",fetch_depth=4,deadline=400ms,on_error=skip")
            lost = re.search(r"gave no answer for 0.4 s \(deadline\), (\d+) samples? lost: ", said)
            if not tap.ok(got is None and lost and one_line(said) and
                          min(4, COUNT + 1 - after) <= int(lost[1]) < 8,
                          f"one that dies ends the data (after {after})", said):
                break
    with Bucket(scratch, folder, die_after=8 * COUNT) as server:
        done = server.run(DSA, "run", "-q", "-o", "gone", "--budget", "60s", "--deadline", "400ms",
                          "--max-requests", "1000000",
                          "--", TRAIN, "--dataset", "s3://bucket/", "--size", "32")
        result = scratch.result("gone")
        tap.ok(done.returncode == 3 and "gave no answer" in done.stderr and
               f"{result['requests']['lost']} samples lost" in done.stderr and
               result["requests"]["gets"] > 7 * COUNT and
               re.search(r"a server ended its data: \S+ gave no answer for 0.4 s \(deadline\), "
                         rf"{result['requests']['lost']} samples lost: ",
                         result["run"]["status_why"]),
               "and dsa run with 3, with what was measured", done.returncode, done.stderr,
               result["requests"])
    one = sorted(os.listdir(os.path.join(folder, "checks")))[0]
    for name, only, options, words in (
            ("a listing", "", ",deadline=400ms", "s3://bucket/: given up"),
            ("objects", "waves/", ",deadline=400ms,fetch_depth=4,in_order=1", "gave no answer"),
            ("an object", "checks/" + one, ",deadline=2s", None)):
        with Bucket(scratch, folder, faults="trickle:100%", only=only) as server:
            got, said = server.dump(options=options)
            tap.ok(got is None and one_line(said, words) if words else
                   got and len(got[0]) // (len(disk[0]) // COUNT) == COUNT - 1,
                   f"a byte a second: {name}", said)


def check_changed(scratch, folder, disk):
    copy = scratch.at("changed")
    shutil.copytree(folder, copy)
    first, second = (os.path.join(copy, "checks", name)
                     for name in sorted(os.listdir(os.path.join(copy, "checks")))[:2])
    with Bucket(scratch, copy) as server:
        got, said = server.dump()
        os.unlink(first)
        shutil.copyfile(second, second + ".new")
        os.replace(second + ".new", second)
        got, said = server.dump()
        tap.ok(got is not None and len(got[0]) // (len(disk[0]) // COUNT) == COUNT - 2,
               "what is gone or replaced can't be read", said)
        got, said = server.dump(options=",on_error=fail")
        tap.ok(got is not None and len(got[0]) // (len(disk[0]) // COUNT) == COUNT - 1 and
               "max-keys=1000" in server.listings()[-1].target, "and the next run lists anew", said)


        os.unlink(second)
        got, said = server.dump(options=",on_error=fail")
        tap.ok(got is None and one_line(said, "it is not there", "; the next run lists the data "
                                        "set anew"), "which it says once", said)
        got, said = server.dump(options=",on_error=fail")
        tap.ok(got is not None, "and does", said)


def check_hostile(scratch, folder):
    """In half a GB of memory."""
    for name, text in HOSTILE.items():
        path = scratch.at("listing.xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        with Bucket(scratch, folder, listing=path) as server:
            got, said = server.dump(ahead=["prlimit", f"--data={1 << 29}"])
            tap.ok(got is None and one_line(said, "listing") and len(server.log()) <= 1001,
                   f"a listing with {name}", said)
    got, said = None, ""
    with Bucket(scratch, folder) as server:
        variables = {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}
        got, said = server.dump(variables=variables)
        tap.ok(got is None and one_line(said, "given up after 3 tries"), "nobody there", said)


def listed(folder):
    """A list of a tree's files, and a shard of them, beside it."""
    names = sorted(os.path.relpath(os.path.join(top, name), folder)
                   for top, _, files in os.walk(folder) for name in files)
    classes = sorted({name.split("/")[0] for name in names})
    with tarfile.open(os.path.join(folder, "all.tar"), "w", format=tarfile.USTAR_FORMAT) as tar:
        for name in names:
            label = tarfile.TarInfo(os.path.splitext(name)[0] + ".cls")
            text = str(classes.index(name.split("/")[0])).encode()
            label.size = len(text)
            tar.add(os.path.join(folder, name), name)
            tar.addfile(label, io.BytesIO(text))
    with open(os.path.join(folder, "list.txt"), "w", encoding="utf-8") as file:
        file.writelines(f"{name} {name.split('/')[0]}\n" for name in names)
    with open(os.path.join(folder, "shards.txt"), "w", encoding="utf-8") as file:
        file.write("all.tar\n")


def check_web(scratch, folder, disk):
    """A list on a web server, which the S3 server is for who signs nothing."""
    copy = scratch.at("web")
    shutil.copytree(folder, copy)
    listed(copy)
    with Bucket(scratch, copy) as server:
        url = server.url + "/bucket/list.txt"
        got, said = server.dump(url)
        heads = [row for row in server.log() if row.method == "HEAD"]
        tap.ok(got == disk and len(heads) == COUNT + 1 and
               len(server.log()) == 2 * COUNT + 2, "a list on a web server", said)
        got, said = server.dump(url)
        tap.ok(got == disk and len(server.log()) == 3 * COUNT + 3, "which is kept, too", said)
        shutil.copytree(copy, os.path.join(copy, "my dir"))
        for name in ("my dir/list.txt", "my%20dir/list%2Etxt"):
            got, said = server.dump(f"{server.url}/bucket/{name}")
            tap.ok(got == disk, f"{name}: typed or encoded", said)
        shutil.rmtree(os.path.join(copy, "my dir"))
        for bad in (url + "?X-Amz-Signature=1", "http://me:pw@host/list.txt", "http://host"):
            got, said = server.dump(bad)
            tap.ok(got is None and one_line(said, "the URL of a list is") and "pw" not in said,
                   "a URL that is none", said)


    with Bucket(scratch, copy, faults="untold:100%") as server:
        got, said = server.dump(server.url + "/bucket/list.txt")
        parts = [row for row in server.log() if row.range == "bytes=0-0"]
        tap.ok(got == disk and len(parts) == COUNT + 1,
               "sizes that HEAD does not tell are told with a part", said, len(parts))


def check_whole(scratch, folder):
    """What is read by another engine; a library that is missing; a shared loader."""
    with Bucket(scratch, folder) as server:
        got, said = server.dump(options=",fetch=pread")
        tap.ok(got is None and one_line(said, "the pread engine reads files"), "fetch=pread", said)
        got, said = server.dump(folder, options=",fetch=net")
        tap.ok(got is None and one_line(said, "on this machine"), "fetch=net for files", said)
        alone = scratch.folder("alone")
        for name in ("libdsa.so.1", "examples/train"):
            path = os.path.join(alone, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.join(BUILD, name), path)
        with wave.open(os.path.join(scratch.folder("clips"), "1.wav"), "wb") as clip:
            clip.setparams((1, 2, 8000, 0, "NONE", ""))
            clip.writeframes(bytes(8000))
        for library, packages, dataset, prep in (
                ("libdsa-net.so", "libcurl4 and libexpat1", "s3://bucket/", "image"),
                ("libdsa-audio.so", "libsndfile1", scratch.at("clips"), "audio")):
            for text, named in (("", library), ("no library", "")):
                if text:
                    with open(os.path.join(alone, library), "w", encoding="ascii") as file:
                        file.write(text)
                done = server.run(os.path.join(alone, "examples/train"), "--dataset", dataset,
                                  variables={"DSA_LOADER": "prep=" + prep})
                tap.ok(done.returncode != 0 and one_line(done.stderr, packages, named),
                       f"{library} that {'can not be loaded' if text else 'is missing'}: its packages",
                       done.stderr)
        shown = scratch.run("ldd", os.path.join(BUILD, "libdsa.so")).stdout
        tap.ok("libcurl" not in shown and "libexpat" not in shown, "libdsa.so needs none of it")


def check_nginx(scratch, folder, disk):
    """A server that we did not write: files and parts of them; TLS and HTTP/2 before a bucket;
    redirects to another one."""
    copy = scratch.at("nginx-data")
    shutil.copytree(folder, copy)
    listed(copy)
    with Bucket(scratch, folder, **SIGNED) as bucket, Nginx(scratch, copy, bucket.url) as nginx:
        got, said = bucket.dump(nginx.plain + "/list.txt", variables=KEYS)
        tap.ok(got == disk and len(nginx.log()) == 2 * COUNT + 2, "nginx: a list", said)
        got, said = bucket.dump(nginx.plain + "/shards.txt", variables=KEYS)
        parts = [row for row in nginx.log() if row.range != "-" and row.status == "206"]
        tap.ok(got == disk and len(parts) >= COUNT, "nginx: parts of a shard", said, len(parts))
        got, said = bucket.dump(nginx.plain + "/away/list.txt", variables=KEYS)
        tap.ok(got == disk and {row.authorization for row in nginx.log("away")} == {"-"},
               "nginx: a list that moved to another host, where no credentials go", said)
        secure = {**KEYS, "AWS_ENDPOINT_URL_S3": nginx.secure, "AWS_CA_BUNDLE": nginx.authority}
        before = len(nginx.log())
        got, said = bucket.dump(variables=secure)
        rows = nginx.log()[before:]
        tap.ok(got == disk and len(rows) == COUNT + 1 and
               {row.protocol for row in rows} == {"HTTP/2.0"} and
               {row.signer for row in bucket.log()} == {ID},
               "nginx: a bucket behind TLS, by HTTP/2", said, len(rows))
        got, said = bucket.dump(variables={**secure, "AWS_CA_BUNDLE": ""})
        tap.ok(got is None and one_line(said, "can't prove who it is", "AWS_CA_BUNDLE"),
               "nginx: an authority that nobody knows", said)
        got, said = bucket.dump(nginx.secure + "/away/list.txt", variables=secure)
        tap.ok(got is None and one_line(said, "/away/list.txt"),
               "nginx: nothing leads from https to http", said)


def check_doctor(scratch, folder):
    with Bucket(scratch, folder, **SIGNED) as server:
        told = {one["check"]: one for one in json.loads(
            server.run(DSA, "doctor", "--json", "s3://bucket/", variables=KEYS).stdout)["checks"]}
        tap.ok(f"{COUNT} samples" in told["data set"]["found"] and
               server.url in told["endpoint"]["found"] and
               told["credentials"]["found"] == "AWS_ACCESS_KEY_ID" and
               "server's" in told["server clock"]["found"] and
               "p99" in told["requests"]["found"] and
               {told[name]["status"] for name in ("data set", "server clock", "requests")} == {"ok"}
               and len(server.gets()) == COUNT, "dsa doctor asks the server", *told.values())
        done = server.run(DSA, "doctor", "s3://bucket/")
        tap.ok(done.returncode == 3 and "may not be read" in done.stdout and
               server.url in done.stdout and "anonymous" in done.stdout and
               "server's" in done.stdout, "and says what it refuses, where, to whom and when",
               done.stdout)


def check_depth(scratch, everything):
    """Where nobody says how many requests there are at once: as many as it takes."""
    at_once = []
    for options in (",fetch_depth=16", ""):
        with Bucket(scratch, everything, latency="25ms") as server:
            got, said = server.dump(options=",prefetch=16,epochs=3" + options)
            at_once.append(len({row.connection for row in server.gets()}))
            tap.ok(got is not None and len(server.gets()) == 3 * 10 * EACH, "one GET a sample",
                   said, len(server.gets()))
    tap.ok(at_once[0] <= 17 < 32 <= at_once[1], "requests at once follow what they take", at_once)
    if not SOAK:
        return
    with Bucket(scratch, everything, latency="40ms") as server:
        done = server.run(DSA, "run", "-q", "-o", "depth", "--budget", "30s", "--prefetch", "16",
                          "--max-requests", "1000000",
                          "--batch", "8", "--", TRAIN, "--dataset", "s3://bucket/", "--size", "32",
                          "--emulate-gpu", "1000")
        result = scratch.result("depth")
        configuration = result["configuration"]
        tap.ok(done.returncode == 0 and configuration["fetch_depth_auto"] and
               configuration["fetch_depth"] >= 40 and middle_stalls(result)["fetch"] < .05,
               "and dsa run tells how many they were", configuration, done.stderr)


def check_pinned(scratch, everything):
    """What is fetched ahead stays until it is used, and takes no more than it may."""
    count = 10 * EACH
    for cache in ("fifo", "lru"):
        with Bucket(scratch, everything, latency="2ms") as server:
            got, said = server.dump(options=f",cache={cache},cache_size=9K,prefetch=8,"
                                            "fetch_depth=64")
            tap.ok(got is not None and len(server.gets()) == count ==
                   len({row.target for row in server.gets()}),
                   f"{cache} of two samples: what was fetched is not evicted before its use", said)
    for most in (1, 20000):
        with Bucket(scratch, everything, latency="2ms") as server:
            got, said = server.dump(options=f",prefetch_bytes={most},fetch_depth=64")
            at_once = len({row.connection for row in server.gets()})
            least = min(row.bytes for row in server.gets())
            tap.ok(got is not None and len(server.gets()) == count and
                   at_once <= max(1, most // least) + 1 < 17, f"prefetch_bytes={most} bounds them",
                   said, at_once, least)


def check_hedge(scratch, everything):
    """A second request where an answer is late: the same samples, and no answer that is late."""
    count, epochs, told, late = 10 * EACH, 4, [], []
    for hedge in (0, 1):
        with Bucket(scratch, everything, latency="3ms", faults="late:1%", seed=1,
                    late="2s") as server:
            table = scratch.at(f"hedge-{hedge}")
            done = server.run(DSA, "run", "--observe", "-q", "-o", f"hedged-{hedge}", "--", DUMP,
                              "s3://bucket/", table, variables={
                                  "DSA_LOADER": "prep=raw,size=64,batch=7,workers=2,"
                                                f"epochs={epochs},hedge={hedge}"})
            with open(table, "rb") as file:
                told.append((file.read(), done.stdout))
            server.stop()
            late.append(sum(row.fault == "late" for row in server.gets()))
            requests = scratch.result(f"hedged-{hedge}")["requests"]
            # One that is called off on its way is none that the server sees.
            tap.ok(requests["gets"] == epochs * count and
                   0 <= len(server.gets()) - requests["gets"] <= requests["hedges"] and
                   hedge * 2 <= requests["hedges"] <= hedge * epochs * count // 20,
                   f"hedge={hedge}: the server had what was wanted, and what was hedged",
                   requests, len(server.gets()), done.stderr)
    tap.ok(told[0] == told[1] and told[0][0], "the samples are the same")
    tap.ok(late[1] < late[0] // 2, "and hardly any answer that was waited for was late", late)


def check_truth(scratch, folder):
    """Four requests in flight of 16 ms each: 250 samples a second, of 1,000 that are wanted."""
    with Bucket(scratch, folder, latency="16ms") as server:
        done = server.run(DSA, "run", "-q", "-o", "truth", "--budget", "150s" if SOAK else "4s",
                          "--max-requests", "1000000",
                          "--batch", "8", "--fetch-depth", "4", "--", TRAIN, "--dataset",
                          "s3://bucket/", "--size", "32", "--emulate-gpu", "1000")
        result = scratch.result("truth")
        shares, rates = middle_stalls(result), middle_rates(result)
        tap.ok(done.returncode == 0 and (abs(shares["fetch"] - .75) <= .02 if SOAK else
                                         is_pace(rates["real"], 250) and
                                         is_pace(rates["cached"], 1000)),
               "what the latency lets is measured", shares, rates, done.stderr)
        server.stop()
        served = sum(row.fault == "-" for row in server.gets())
        tap.ok(served <= result["requests"]["gets"] <= served + 64 and
               result["requests"]["listing"] == len(server.listings()) == 1 and
               result["requests"]["retries"] == 0 and
               result["configuration"]["engine"] == "net" and
               result["configuration"]["cache"] == "none",
               "the result counts the requests, those under way at the end, too",
               result["requests"], served)


def check_bound(scratch, folder):
    """No more objects are asked for than allowed, which the server counts; what that costs."""
    with open(scratch.at("prices.ini"), "w", encoding="ascii") as file:
        file.write("currency = USD\nrequest = 0.001\nlisting = 0.5\negress_gb = 100\n")
    for most, status in ((10, 3), (COUNT, 3), (500, 0)):
        with Bucket(scratch, folder, latency="4ms") as server:
            done = server.run(DSA, "run", "-o", f"bound-{most}", "--prices", "prices.ini",
                              "--budget", "4s",
                              *(["--max-requests", str(most)] if most != COUNT else []),
                              "--batch", "4", "--fetch-depth", "4", "--", TRAIN, "--dataset",
                              "s3://bucket/", "--size", "32", "--emulate-gpu", "400")
            server.stop()
            result = scratch.result(f"bound-{most}")
            told, gets = result["requests"], len(server.gets())
            tap.ok(done.returncode == status and gets <= most and gets - 4 <= told["gets"] <= gets
                   and result["run"]["status"] == "requests" and told["most"] == most and
                   f"asks for {most} objects at most" in done.stderr,
                   f"{most} objects at most", gets, done.returncode, told, result["run"],
                   done.stderr)
            tap.ok(abs(told["cost"] - (.001 * told["gets"] + .5 + told["bytes"] * 1e-7)) < 1e-6 and
                   f"{most} requests" in done.stdout + done.stderr,
                   "and what they cost is told", told, done.stdout, done.stderr)
    with Bucket(scratch, folder, latency="4ms") as server:
        done = server.run(DSA, "whatif", "bound-500", "--fetch-depth", "8", "--verify", "--budget",
                          "2s", "--max-requests", "60")
        server.stop()
        gets = len(server.gets())
        tap.ok(60 < gets <= 2 * 60 and "each asks for 60 objects at most" in done.stderr,
               "a change that is tried is bounded, and the unchanged run", gets, done.stderr)


def verified(server, *change):
    """Of a change that is predicted, then really run: (what was told, what came of it)."""
    done = server.run(DSA, "whatif", "whatif", *change, "--verify", "--budget", "15s",
                      "--max-requests", "1000000", "--json")
    tap.ok(done.returncode == 0, f"{' '.join(change)} is tried", done.stderr)
    result = json.loads(done.stdout)
    return result, result["verifications"][-1]


def check_whatif(scratch):
    """The least requests in flight, and the least cache, without a fetch stall: and with them
    there is none. 8 of 55 ms each give 145 samples a second, of 400 that are wanted."""
    folder = scratch.images("wanted", 400, "6K")
    with Bucket(scratch, folder, latency="55ms") as server:
        done = server.run(DSA, "run", "-q", "-o", "whatif", "--budget", "30s", "--max-requests",
                          "1000000", "--batch", "8", "--fetch-depth", "8", "--", TRAIN,
                          "--dataset", "s3://bucket/", "--size", "32", "--emulate-gpu", "400")
        tap.ok(done.returncode == 0, "a run to predict from", done.stderr)
        told = json.loads(server.run(DSA, "whatif", "whatif", "--json").stdout)
        least = {key: one["change"][key] for one in told["predictions"]
                 for key in ("fetch_depth", "cache_share")
                 if "least without a fetch stall" in one.get("advice", "")
                 and key in one["change"]}
        tap.ok(set(least) == {"fetch_depth", "cache_share"} and 22 <= least["fetch_depth"] <= 40,
               "the least of both is told", least, *told["predictions"])
        for change, stalls in ((("--fetch-depth", "14"), True),
                               (("--fetch-depth", str(least["fetch_depth"])), False),
                               (("--cache", f"{100 * least['cache_share']:g}%"), False)):
            result, one = verified(server, *change)
            free = result["rates"]["cached_per_s"]["low"]
            least_free = min(.98 * free, one["predicted_per_s"]["low"])
            tap.ok(abs(one["error"]) <= .08 and
                   (one["measured_per_s"]["high"] < .9 * free) == stalls and
                   (stalls or one["measured_per_s"]["high"] >= least_free),
                   f"{' '.join(change)}: {one['error']:+.3f} off", one, free)


def check_rate(scratch):
    """A server that refuses (429) what is more than 120 requests a second: the rate predicted
    from a run without a limit, and that of training. Windows would find again, each, the
    second's worth that may come at once."""
    folder = scratch.at("wanted")
    train = ["--max-requests", "1000000", "--batch", "8", "--fetch-depth", "8", "--", TRAIN,
             "--dataset", "s3://bucket/", "--size", "32", "--emulate-gpu", "400"]
    with Bucket(scratch, folder, latency="25ms") as server:
        server.run(DSA, "run", "-q", "-o", "free", "--budget", "30s", *train)
        told = server.run(DSA, "whatif", "free", "--storage-bucket", "latency=25ms,rate=120",
                          "--json")
        predicted = json.loads(told.stdout)["predictions"][-1]["rate_per_s"]["value"]
    with Bucket(scratch, folder, latency="25ms", rate=120) as server:
        done = server.run(DSA, "run", "-q", "-o", "limited", "--observe", "--steps", "600", *train)
        result = scratch.result("limited")
        rate, retries = result["rates"]["real_per_s"]["value"], result["requests"]["retries"]
        print(f"# 120 requests a second: {rate:.1f} samples/s, predicted {predicted:.1f}, "
              f"{retries} sent again")
        tap.ok(done.returncode == 0 and retries > 0 and abs(predicted / rate - 1) <= .08,
               "a limit of requests is predicted", predicted, rate, retries, told.stderr,
               done.stderr)


def main():
    with Scratch() as scratch:
        everything = scratch.images("everything", 10 * EACH, "6K")
        folder = scratch.at("tree")
        for name in ("checks", "rings", "waves"):
            shutil.copytree(os.path.join(everything, name), os.path.join(folder, name))
        originals = [os.path.join(top, name) for top, _, files in sorted(os.walk(everything))
                     for name in sorted(files)]
        disk = on_disk(scratch, folder)
        check_same(scratch, folder, disk)
        check_names(scratch, originals)
        check_many(scratch, originals)
        check_settings(scratch, folder, disk)
        check_refused(scratch, folder)
        check_secret(scratch, folder)
        check_expires(scratch, folder)
        check_faults(scratch, folder, disk)
        check_away(scratch, folder, disk)
        check_changed(scratch, folder, disk)
        check_hostile(scratch, folder)
        check_web(scratch, folder, disk)
        check_whole(scratch, folder)
        check_nginx(scratch, folder, disk)
        check_doctor(scratch, folder)
        check_depth(scratch, everything)
        check_pinned(scratch, everything)
        check_hedge(scratch, everything)
        check_truth(scratch, folder)
        check_bound(scratch, folder)
        if SOAK:
            check_whatif(scratch)
            check_rate(scratch)
    tap.done()


main()
