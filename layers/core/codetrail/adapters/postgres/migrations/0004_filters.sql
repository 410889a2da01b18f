-- What a filter asks of a span, in an index of its own: the rows hold the texts, and reading a hundred thousand
-- of them takes longer than the rest of a search. A path may be longer than a B-tree's key; its digest is not.

alter table spans add column place uuid generated always as (md5(path)::uuid) stored;
create index spans_by_filter on spans (revision, ordinal) include (kind, language, test, place);

-- Where else the same bytes stand.
create index spans_by_digest on spans (revision, digest);
