"""`python -m torpor`: the process of a task pod."""

import gc

gc.disable()  # until the user's code begins: collections during the imports take 2 of 48 ms of CPU

from torpor.runtime import main  # noqa: E402 - see above

if __name__ == "__main__":
    main.main(main.in_pod)
