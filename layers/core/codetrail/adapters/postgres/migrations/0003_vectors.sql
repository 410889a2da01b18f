-- One table a dimension: vectors that belong to a revision, their signs for the quantised scan, and the cache
-- of vectors by text. Search reads the first two and never joins the third.

create extension if not exists vector;

create table vectors_256 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    embedding halfvec(256) not null,
    primary key (revision, ordinal)
);
alter table vectors_256 alter column embedding set storage plain;
create table signs_256 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    signs     bit(256) not null,
    primary key (revision, ordinal)
);
create table cached_vectors_256 (
    key        bytea primary key,  -- sha256(model, NUL, embedded text)
    embedding  halfvec(256) not null,
    created_at timestamptz not null default now()
);
alter table cached_vectors_256 alter column embedding set storage plain;

create table vectors_384 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    embedding halfvec(384) not null,
    primary key (revision, ordinal)
);
alter table vectors_384 alter column embedding set storage plain;
create table signs_384 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    signs     bit(384) not null,
    primary key (revision, ordinal)
);
create table cached_vectors_384 (
    key        bytea primary key,  -- sha256(model, NUL, embedded text)
    embedding  halfvec(384) not null,
    created_at timestamptz not null default now()
);
alter table cached_vectors_384 alter column embedding set storage plain;

create table vectors_512 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    embedding halfvec(512) not null,
    primary key (revision, ordinal)
);
alter table vectors_512 alter column embedding set storage plain;
create table signs_512 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    signs     bit(512) not null,
    primary key (revision, ordinal)
);
create table cached_vectors_512 (
    key        bytea primary key,  -- sha256(model, NUL, embedded text)
    embedding  halfvec(512) not null,
    created_at timestamptz not null default now()
);
alter table cached_vectors_512 alter column embedding set storage plain;

create table vectors_768 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    embedding halfvec(768) not null,
    primary key (revision, ordinal)
);
alter table vectors_768 alter column embedding set storage plain;
create table signs_768 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    signs     bit(768) not null,
    primary key (revision, ordinal)
);
create table cached_vectors_768 (
    key        bytea primary key,  -- sha256(model, NUL, embedded text)
    embedding  halfvec(768) not null,
    created_at timestamptz not null default now()
);
alter table cached_vectors_768 alter column embedding set storage plain;

create table vectors_1024 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    embedding halfvec(1024) not null,
    primary key (revision, ordinal)
);
alter table vectors_1024 alter column embedding set storage plain;
create table signs_1024 (
    revision  bigint not null references revisions on delete cascade,
    ordinal   integer not null,
    signs     bit(1024) not null,
    primary key (revision, ordinal)
);
create table cached_vectors_1024 (
    key        bytea primary key,  -- sha256(model, NUL, embedded text)
    embedding  halfvec(1024) not null,
    created_at timestamptz not null default now()
);
alter table cached_vectors_1024 alter column embedding set storage plain;
