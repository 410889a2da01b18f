"""codetrail: ask a codebase a question; every claim of the answer is a citation anybody can check.

The rooms, from the inside out; a room imports only from those before it:

    errors      what codetrail can refuse to do
    domain      the nouns: spans, lines and digests, jobs, manifests, questions, answers
    services    the verbs, and `ports`: the outside world as they need it
    adapters    one for each outside thing; `api`: the wire; `config`: the settings
    wiring      which real thing stands behind each port

Read in this order: domain/lines.py, domain/span.py, domain/answer.py (what is promised), then
services/ports.py, services/index.py, services/load.py (how it gets there), services/search.py and
services/ask.py (how it is asked).
"""
