"""The line table as one page of HTML that needs no network, no server and no build step."""

from .page import html_bytes

__all__ = ["html_bytes"]
