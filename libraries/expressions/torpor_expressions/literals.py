"""Finds the end of CEL's string literals, comments and braces, so that a `}` within them does not close a `${`.

It knows the lexical rules of CEL (quotes, triple quotes, raw and bytes prefixes, backslashes, `//`) and none of its
grammar.
"""

import re

_TOKEN = re.compile(
    r"""
    (?P<comment> //[^\n]* )
  | (?P<raw>     \b(?:[rR][bB]?|[bB][rR]) (?: \"{3}.*?\"{3} | '{3}.*?'{3} | \"[^"\n]*\" | '[^'\n]*' ) )
  | (?P<string>  \"{3}(?:\\.|[^\\])*?\"{3} | '{3}(?:\\.|[^\\])*?'{3} | \"(?:\\.|[^"\\\n])*\" | '(?:\\.|[^'\\\n])*' )
  | (?P<name>    `[^`\n]*` )
  | (?P<open>    \{ )
  | (?P<close>   \} )
    """,
    re.VERBOSE | re.DOTALL,
)


def closing_brace(text: str, start: int) -> int | None:
    """Return the index of the `}` that closes a brace opened just before `start`, or None."""
    depth = 1
    for token in _TOKEN.finditer(text, start):
        match token.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
                if depth == 0:
                    return token.start()
            case _:
                continue
    return None
