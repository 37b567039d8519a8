"""Lies first on the PYTHONPATH of a program that dsa runs. Arms the hook for when torch's
DataLoader is imported, then runs the sitecustomize that would have been found without
this one."""

import importlib.machinery
import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = "torch.utils.data.dataloader"


class _Finder:
    """Has the hook told when the module has been imported."""

    def find_spec(self, name, path=None, target=None):
        if name != TARGET:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            try:
                import dsa_hook
                dsa_hook.install(module)
            except Exception:  # the program runs on as without dsa
                pass

        spec.loader.exec_module = exec_module
        return spec


def _run_hidden():
    paths = [path for path in sys.path if os.path.abspath(path or ".") != HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", paths)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


if os.environ.get("DSA_SESSION") and os.environ.get("DSA_IO"):
    sys.meta_path.insert(0, _Finder())
_run_hidden()
