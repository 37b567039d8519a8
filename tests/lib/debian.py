"""A bare Debian in a folder, for the long forms of tests: needs root, debootstrap and a
network."""

import os
import shutil
import subprocess


def bootstrap(root, suite, *packages):
    """None, or why there is none."""
    if os.getuid() != 0:
        return "needs root"
    if shutil.which("debootstrap") is None:
        return "needs debootstrap"
    made = subprocess.run(["debootstrap", "--variant=minbase",
                           "--include=" + ",".join(packages), suite, root],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if made.returncode != 0:
        return "debootstrap, perhaps without a network: " + made.stdout.splitlines()[-1]
    return None


def run_inside(root, user, script):
    """What a script of it says, which `user` runs. Mounts and processes end with their
    namespaces."""
    inside = (f"mount --rbind /sys {root}/sys; mount -t tmpfs tmpfs {root}/dev/shm; "
              f"exec chroot {root} su - {user} -c 'sh {script}'")
    return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child",
                           f"--mount-proc={root}/proc", "sh", "-c", inside],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=3000, check=False).stdout
