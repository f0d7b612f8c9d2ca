"""Who is logged in: cookies, tokens of a proxy, OIDC, and the one-time token of `torpor ui`."""
