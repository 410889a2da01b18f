"""Replies as text for a reader: answers, refusals, citations with the commands that check them, search hits.

Nothing here prints. Whatever came from a repository or from the API passes through `visible` first. A command
to be copied is always a line of its own and never wrapped.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from shlex import quote

from codetrail.domain.remote import local_path
from codetrail_local.replies import (
    Answer,
    Citation,
    Coverage,
    Floor,
    Hit,
    Hits,
    Job,
    Marked,
    Place,
    Repo,
    Searched,
)
from codetrail_local.terminal import Style, visible, visible_line

# Lines of a hit that are shown; the citation says where the rest is.
PREVIEW_LINES = 4
# Of the places where the same bytes stand; --json has ten.
SHOWN_COPIES = 3

_REASONS = {
    "no_grammar": "no grammar",
    "parse_budget": "took too long to parse",
    "nested_too_deep": "nested too deep to parse",
    "parse_errors": "parsed with errors",
    "encoding_replaced": "not all UTF-8",
    "too_large": "too large",
    "binary": "binary",
    "generated": "generated",
    "vendored": "vendored",
    "minified": "minified",
    "lfs_pointer": "Git LFS pointers",
    "symlink": "links",
    "submodule": "submodules",
    "path_too_deep": "in too many folders",
    "encoding": "unknown encoding",
    "empty": "empty",
    "no_words": "without a word",
    "unreadable_notebook": "notebooks that cannot be read",
    "no_spans": "with nothing in them to find",
    "out_of_scope": "outside the chosen folders",
}


# A confidence cannot lie under it: a floor here refuses nothing.
NO_CONFIDENCE = 0.0
# The same of a cosine.
NO_COSINE = -1.0


def answer(reply: Answer, style: Style, *, looked_up: str = "") -> str:
    """An answer with its citations, or a refusal with what was searched. *looked_up* is the ref that was
    resolved for this very question, if one was."""
    return _refusal(reply, style) if reply.refused else _answered(reply, style, looked_up=looked_up)


def hits(reply: Hits, style: Style) -> str:
    """What a search found, best first, and how to check it."""
    if not reply.hits:
        searched = f" Searched: {_searched(reply.searched)}." if reply.searched else ""
        return style.prose(f"Nothing in this repository's index matches.{searched}")
    parts = [_hit(number, hit, style) for number, hit in enumerate(reply.hits, 1)]
    notes = _staleness(hit.citation for hit in reply.hits)
    meaning = (
        f"Scores order the hits of one search ({visible_line(reply.mode)}); they say nothing across searches."
    )
    return "\n\n".join([*parts, "\n".join(style.prose(line) for line in [*notes, meaning])])


def citations(marked: Sequence[Marked], style: Style) -> str:
    """Each citation with its link, the command that checks it and the digest that the command must print."""
    sections = []
    for remote in dict.fromkeys(entry.citation.remote for entry in marked):
        of_remote = [entry for entry in marked if entry.citation.remote == remote]
        lead = style.prose("Citations. Each command prints the SHA-256 under it, in any clone:")
        lines = [lead, f"    {clone_hint(remote)}"]
        for entry in of_remote:
            lines += ["", *_citation(entry, style)]
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def clone_hint(remote: str) -> str:
    """The shell line that gets to a clone of *remote*: a local repository is one already."""
    folder = local_path(remote)
    if folder is not None:
        return f"cd {quote(visible_line(folder))}"
    name = visible_line(remote.rstrip("/").rpartition("/")[2])
    return f"git clone {quote(visible_line(remote))} && cd {quote(name)}"


def indexed(repo: Repo, ref: str, style: Style) -> str:
    """What of a repository is in the index; *ref* is what it was indexed by just now."""
    name = f"{visible_line(repo.remote)} ({visible_line(ref)})"
    head = f"{name} is indexed at commit {visible_line(repo.commit)}."
    counts = []
    if repo.spans is not None:
        counts.append(_count(repo.spans, "span"))
    if repo.files is not None:
        counts.append(_count(repo.files, "file"))
    lines = [style.prose(head), f"  id       {visible_line(repo.id)}"]
    if counts:
        lines.append(f"  holds    {' of '.join(counts)}")
    if repo.coverage is not None:
        lines += _coverage(repo.coverage, style)
    return "\n".join(lines)


def repos(listed: Sequence[Repo], now: datetime) -> str:
    """The corpus as a table, newest first."""
    if not listed:
        return "Nothing is indexed yet. Begin with: codetrail index REMOTE"
    rows = [("ID", "COMMIT", "INDEXED", "REPOSITORY")]
    for repo in listed:
        name = f"{visible_line(repo.remote)} ({visible_line(repo.ref)})"
        rows.append((visible_line(repo.id), visible_line(repo.commit[:7]), _age(repo.indexed_at, now), name))
    return _table(rows)


def jobs(listed: Sequence[Job]) -> str:
    """Jobs as a table, newest first; a failed one says why on a line of its own."""
    if not listed:
        return "No job yet. Begin with: codetrail index REMOTE"
    rows = [("JOB", "STATUS", "STAGE", "REPOSITORY")]
    for job in listed:
        stage = job.progress.stage if job.progress else ""
        name = f"{visible_line(job.remote)} ({visible_line(job.ref)})"
        rows.append((visible_line(job.id), visible_line(job.status), visible_line(stage), name))
    lines = _table(rows).split("\n")
    for position in range(len(listed), 0, -1):
        why = visible_line(listed[position - 1].why)
        if why:
            lines.insert(position + 1, f"    {why}")
    return "\n".join(lines)


def _answered(reply: Answer, style: Style, *, looked_up: str) -> str:
    headings = {f"[{entry.marker}] {entry.citation.path}:" for entry in reply.citations}
    lines = []
    for line in visible(reply.answer).rstrip("\n").split("\n"):
        heading = any(line.startswith(visible_line(start)) for start in headings)
        lines.append(style.bold(line) if heading else line)
    cited = [entry.citation for entry in reply.citations]
    unsaid = ", ".join(visible_line(word) for word in reply.unmatched_words)
    notes = [f"No cited span contains: {unsaid}"] if unsaid else []
    notes += _looked_up(looked_up, cited) if looked_up else _staleness(cited)
    if reply.floor is not None and reply.floor.applicable and not _refuses(reply.floor):
        best = "" if reply.top_score is None else f"The best match has a cosine of {reply.top_score:.2f}. "
        notes.append(
            f"{best}The floor refuses nothing (ANSWER_SCORE_FLOOR), so a poor match is answered as well."
        )
    if reply.dropped:
        notes.append(f"{_count(reply.dropped, 'more span')} matched and did not fit the answer's length.")
    parts = ["\n".join(lines)]
    if reply.citations:
        parts.append(citations(reply.citations, style))
    if notes:
        parts.append("\n".join(style.prose(note) for note in notes))
    return "\n\n".join(parts)


def _refusal(reply: Answer, style: Style) -> str:
    lines = [style.bold("No answer."), style.prose(visible(reply.detail)), ""]
    lines.append(f"  reason   {visible_line(reply.reason)}")
    if reply.confidence is not None:
        lines.append(f"  reached  {reply.confidence:.3f} of confidence")
    elif reply.top_score is not None:
        lines.append(f"  reached  {reply.top_score:.3f} of cosine")
    if reply.floor is not None and reply.floor.applicable and _refuses(reply.floor):
        lines.append(f"  floor    {_floor(reply.floor)}")
    if reply.coverage is not None:
        lines += _coverage(reply.coverage, style, reply.searched)
    if reply.nearest:
        lines += ["", style.prose("What came nearest. It is not an answer:")]
        lines += [
            f"  {_place(near)}{_name(near.kind, near.symbol)}  {style.faint(f'score {near.score:.3f}')}"
            for near in reply.nearest
        ]
    return "\n".join(lines)


def _refuses(floor: Floor) -> bool:
    return floor.value > (NO_CONFIDENCE if floor.quantity == "confidence" else NO_COSINE)


def _floor(floor: Floor) -> str:
    kind = "measured" if floor.calibrated else "not measured"
    return f"{floor.value:.3f} of {visible_line(floor.quantity)} ({kind})"


def _coverage(coverage: Coverage, style: Style, searched: Searched | None = None) -> list[str]:
    indexed = _count(coverage.indexed + coverage.degraded, "file")
    if coverage.degraded:
        indexed += f", {coverage.degraded} of them by windows of lines"
    lines = [f"  searched {_searched(searched)}"] if searched else []
    lines.append(f"  indexed  {indexed}")
    if coverage.skipped:
        lines.append(f"  skipped  {_count(coverage.skipped, 'file')}")
    if coverage.dropped_spans:
        lines.append(f"  dropped  {_count(coverage.dropped_spans, 'span')} without a word")
    if coverage.reasons:
        by_count = sorted(coverage.reasons.items(), key=lambda item: (-item[1], item[0]))
        why = ", ".join(
            f"{number} {_REASONS.get(reason, visible_line(reason))}" for reason, number in by_count
        )
        first, *rest = style.prose(why, " " * 11).split("\n")
        lines += [f"  why      {first.strip()}", *rest]
    return lines


def _searched(searched: Searched) -> str:
    return f"{_count(searched.spans, 'span')} in {_count(searched.files, 'file')}"


def _copies(found: Hit | Marked, style: Style) -> list[str]:
    if not found.copies:
        return []
    shown = found.copy_places[:SHOWN_COPIES]
    more = found.copies - len(shown)
    places = ", ".join([_place(place) for place in shown] + ([f"{more:,} more"] if more else []))
    return [style.faint(f"    the same also at {places}")]


def _citation(entry: Marked, style: Style) -> list[str]:
    lines = [style.bold(f"[{entry.marker}] {_place(entry.citation)}{_name(entry.kind, entry.symbol)}")]
    if entry.citation.permalink:
        lines.append(f"    {visible_line(entry.citation.permalink)}")
    lines.append(f"    {visible_line(entry.citation.check)}")
    lines.append(f"    {style.faint(visible_line(entry.citation.digest))}")
    return lines + _copies(entry, style)


def _hit(number: int, hit: Hit, style: Style) -> str:
    head = f"{number}. {_place(hit.citation)}{_name(hit.kind, hit.symbol)}"
    lines = [f"{style.bold(head)}  {style.faint(f'score {hit.score:.3f}')}"]
    body = [line for line in visible(hit.text).split("\n") if line.strip()]
    lines += [f"    {line}" for line in body[:PREVIEW_LINES]]
    if len(body) > PREVIEW_LINES:
        lines.append(
            style.faint(
                f"    … {_count(len(body) - PREVIEW_LINES, 'more line')}" if style.unicode else "    ..."
            )
        )
    return "\n".join(lines + _copies(hit, style))


def _place(place: Citation | Place) -> str:
    return f"{visible_line(place.path)}:{place.start_line}-{place.end_line}"


def _name(kind: str, symbol: str) -> str:
    words = " ".join(visible_line(word) for word in (kind, symbol) if word)
    return f" ({words})" if words else ""


def _looked_up(ref: str, cited: Iterable[Citation]) -> list[str]:
    """What the API cannot say of an answer: it knows the commit, and not by which of its refs we came."""
    known = dict.fromkeys(visible_line(one.commit[:7]) for one in cited)
    return [
        f"Correct at commit {commit}: {visible_line(ref)} was looked up for this answer and names it."
        for commit in known
    ]


def _staleness(cited: Iterable[Citation]) -> list[str]:
    notes = (citation.staleness.note for citation in cited if citation.staleness is not None)
    return [visible_line(note) for note in dict.fromkeys(notes) if note]


def _age(moment: str, now: datetime) -> str:
    try:
        then = datetime.fromisoformat(moment)
    except ValueError:
        return visible_line(moment)
    minutes = int((now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds() // 60)
    if minutes < 1:
        return "just now"
    for size, unit in ((1440, "day"), (60, "hour"), (1, "minute")):
        if minutes >= size:
            return f"{_count(minutes // size, unit)} ago"
    return "just now"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    )
