"""The endpoints of the page: docs/design/page.md lists them."""
