"""Lies first on the PYTHONPATH of a program that dsa runs. Arms the hook for when torch's
DataLoader is first used, then runs the sitecustomize that would have been found without
this one. Every Python below dsa starts with it: what it imports is there already, or torch
has brought it by then."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = "torch.utils.data.dataloader"


def _refuse(error):
    """The program runs on as without dsa, which is told why; the user is, if even that
    fails. The library may not be loaded yet."""
    why = f"its hook failed: {type(error).__name__}: {error}"
    try:
        import ctypes
        library = os.path.join(os.path.dirname(os.path.realpath(HERE)), "libdsa-io.so")
        ctypes.CDLL(library).dsa_hook_refuse(why.encode())
    except Exception:
        print("dsa:", why, file=sys.stderr)


def _tell(library):
    try:
        library(None).dsa_hook_ran()
    except Exception:  # the library is not preloaded any more
        pass


def _install(module):
    try:
        import dsa_hook
        dsa_hook.install(module)
    except Exception as error:
        _refuse(error)


def _first_call(owner, name, plain, install):
    import functools

    @functools.wraps(plain)
    def call(self, *args, **kwargs):
        mine = vars(owner)[name] is call  # else others stand before it
        install()
        return (getattr(owner, name) if mine else plain)(self, *args, **kwargs)

    setattr(owner, name, call)
    return owner, name, call, plain


def _arm(module):
    """Has the hook installed by whatever is called first, in the program or in a worker:
    importing it takes milliseconds, and many programs that import torch load nothing."""
    fetch = module._utils.fetch
    places = ((module.DataLoader, "__iter__"), (module._BaseDataLoaderIter, "__init__"),
              (module._utils.worker.WorkerInfo, "__init__"),
              (fetch._MapDatasetFetcher, "fetch"), (fetch._IterableDatasetFetcher, "fetch"))
    plain = [vars(owner)[name] for owner, name in places]
    armed = []

    def install():
        while armed:
            owner, name, call, plain = armed.pop()
            if vars(owner)[name] is call:
                setattr(owner, name, plain)
            if not armed:
                _install(module)

    for (owner, name), call in zip(places, plain):
        armed.append(_first_call(owner, name, call, install))


class _Finder:
    """Has the hook told when the module has been imported, and dsa that there is one, once
    the program has imported what that takes."""

    told = False

    def find_spec(self, name, path=None, target=None):
        library = getattr(sys.modules.get("ctypes"), "CDLL", None)
        if library is not None and not self.told:
            self.told = True
            _tell(library)
        if name != TARGET:
            return None
        import importlib.util
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            try:
                _arm(module)
            except (AttributeError, KeyError):  # the hook says what is missing
                _install(module)

        spec.loader.exec_module = exec_module
        return spec


def _run_hidden():
    own = sys.modules.pop("sitecustomize")
    here = [path for path in sys.path if os.path.abspath(path or ".") == HERE]
    at = sys.path.index(here[0]) if here else 0
    sys.path[:] = [path for path in sys.path if path not in here]
    try:
        import sitecustomize
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = own
    finally:
        sys.path[at:at] = here


if os.environ.get("DSA_SESSION") and os.environ.get("DSA_IO"):
    sys.meta_path.insert(0, _Finder())
_run_hidden()
