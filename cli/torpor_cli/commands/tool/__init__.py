"""Commands about the installation and about `torpor` itself."""
