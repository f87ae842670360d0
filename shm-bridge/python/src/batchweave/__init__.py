"""BatchWeave: training steps from the node daemon, as zero-copy buffers and tensors.

Where to start: :func:`attach` for plain Python, :class:`batchweave.torch.StepLoader` for PyTorch,
:mod:`batchweave.errors` for what can go wrong. Needs neither torch nor numpy.
"""

import sysconfig as _sysconfig

if _sysconfig.get_config_var("Py_GIL_DISABLED"):
    raise ImportError(
        "batchweave does not support free-threaded builds of Python: use a build with the GIL"
    )

from .errors import *  # noqa: E402,F403
from .errors import __all__ as _errors  # noqa: E402
from .reader import Reader, Slice, Step, Tensor, attach  # noqa: E402

__version__ = "0.1.0"
__all__ = ["Reader", "Slice", "Step", "Tensor", "attach", *_errors]
