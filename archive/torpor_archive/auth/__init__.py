"""Authenticates and authorizes requests by TokenReviews and SubjectAccessReviews."""
