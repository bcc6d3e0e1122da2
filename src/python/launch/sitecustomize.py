"""Runs in each Python below `pmtop -- COMMAND`: waits for the frameworks, then lets the next sitecustomize run as it would without pmtop.

pmtop puts this folder first in PYTHONPATH. This file is short because each Python that starts compiles it, where no __pycache__ can be written;
Pythons of any age read it. The rest is in pmtop_launch_hooks.py.
"""
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


class _Watch(object):
    """A finder that notices when these modules are imported, and what in them a training uses first. It imports none of them."""

    waits_for = {"torch.utils.data.dataloader": "DataLoader _BaseDataLoaderIter", "torch.optim.optimizer": "Optimizer", "torch.autograd": "backward",
                 "keras.src.trainers.epoch_iterator": "EpochIterator", "keras.src.optimizers.base_optimizer": "BaseOptimizer",
                 "lightning.pytorch.trainer.trainer": "Trainer", "pytorch_lightning.trainer.trainer": "Trainer", "jax._src.api": "value_and_grad"}

    def find_spec(self, name, path=None, target=None):
        if name not in self.waits_for:
            return None
        sys.path.insert(0, _FOLDER)
        try:
            import pmtop_launch_hooks as hooks
        except Exception:
            return None
        finally:
            sys.path.remove(_FOLDER)
        return hooks.find(self, name, path, target)


_report = os.environ.get("PMTOP_LAUNCH")
if _report is not None and sys.version_info >= (3, 8) and os.environ.get("PMTOP") != "0":
    sys.meta_path.insert(0, _Watch())
    try:
        if _report and not os.stat(_report).st_size:
            with open(_report, "a") as _out:
                _out.write("started\n")
    except OSError:
        pass
sys.path[:] = [_folder for _folder in sys.path if _folder != _FOLDER]
sys.path_importer_cache.pop(_FOLDER, None)
sys.modules.pop("sitecustomize", None)
import sitecustomize  # noqa: E402,F401
