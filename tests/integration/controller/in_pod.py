"""`python -m torpor` as it is, but for where the pod's credentials are: the first argument, since no volume is mounted.

The process kubelet starts this; nothing else of the worker is replaced.
"""

import sys

from torpor.runtime import main
from torpor_wire import constants

if __name__ == "__main__":
    constants.CREDENTIALS = sys.argv[1]
    main.main(main.in_pod)
