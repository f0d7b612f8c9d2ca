"""`python e2e_site.py --knows SHA256`: a site that answers 200 to an Authorization that it knows, 401 to others.

It repeats what it was sent, as careless sites do.
"""

import argparse
import hashlib
import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 8000


class AuthorizedSite(ThreadingHTTPServer):
    """Serves on all addresses; `knows` is the SHA-256 of an Authorization."""

    def __init__(self, knows: str) -> None:
        super().__init__(("", PORT), AuthorizedPage)
        self.knows = knows


class AuthorizedPage(BaseHTTPRequestHandler):
    server: AuthorizedSite

    def do_GET(self) -> None:
        """The one page."""
        sent = self.headers.get("Authorization", "")
        known = hashlib.sha256(sent.encode()).hexdigest() == self.server.knows
        body = json.dumps({"sent": sent}).encode()
        self.send_response(HTTPStatus.OK if known else HTTPStatus.UNAUTHORIZED)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--knows", required=True)
    AuthorizedSite(parser.parse_args().knows).serve_forever()
