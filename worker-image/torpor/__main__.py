"""`python -m torpor`: the process of a task pod."""

from torpor.runtime import main

if __name__ == "__main__":
    main.main(main.in_pod)
