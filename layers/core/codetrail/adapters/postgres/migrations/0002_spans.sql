-- What a revision holds: files and their outcomes, spans, postings, names.

create table files (
    revision bigint not null references revisions on delete cascade,
    path     text collate "C" not null,
    blob     text collate "C" not null,
    size     bigint not null,
    language text not null,
    outcome  text not null,
    reason   text,
    spans    integer not null,
    dropped  integer not null
);
-- By digest, since a path may be longer than a B-tree's key.
create unique index files_by_path on files (revision, md5(path));

create table spans (
    revision   bigint not null references revisions on delete cascade,
    ordinal    integer not null,
    id         text collate "C" not null,
    path       text collate "C" not null,
    kind       text not null,
    symbol     text not null,
    language   text not null,
    start_line integer not null,
    end_line   integer not null,
    length     integer not null,
    digest     text collate "C" not null,
    text       text not null,
    test       boolean not null,
    name_mass  real not null,
    primary key (revision, ordinal)
);
create unique index spans_by_id on spans (revision, id);

-- One row a term: ordinals as int32, weights as float32, both little-endian. Stored out of line and
-- uncompressed, so that a document frequency is read without touching them.
create table postings (
    revision  bigint not null references revisions on delete cascade,
    term      text collate "C" not null,
    ordinals  bytea not null,
    weights   bytea not null,
    primary key (revision, term)
);
alter table postings alter column ordinals set storage external, alter column weights set storage external;

create table names (
    revision bigint not null references revisions on delete cascade,
    name     text collate "C" not null,
    ordinals bytea not null,
    primary key (revision, name)
);
