"""The HTTP server: every index of a folder, over JSON.

``app.py``
    `create_app`: the routes, the state they share, start and end.
``models.py``
    What requests and answers hold.
``catalog.py``, ``served_index.py``
    The indexes by name; one index, its searches and its writes.
``routing.py``, ``*_routes.py``
    How routes are declared; the routes.
``tasks.py``, ``state_store.py``
    Long changes and comparisons; what the processes of a server share.
``keys.py``, ``sessions.py``
    Keys of requests, and the cookies that browsers send in their place.
``page/``
    The page at ``/``: HTML, a style sheet and modules in JavaScript, which call these routes.
``problems.py``
    Errors as answers of RFC 9457.

It stands on the public API of the package. ``softcosine serve`` starts it (``process.py``).
"""

from softcosine.serve.app import create_app
from softcosine.serve.settings import Limits, ServeSettings

__all__ = ["Limits", "ServeSettings", "create_app"]
