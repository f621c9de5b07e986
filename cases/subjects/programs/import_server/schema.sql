CREATE TABLE people (
    id           TEXT PRIMARY KEY,
    external_key TEXT NOT NULL,
    mail         TEXT NOT NULL,
    name         TEXT NOT NULL
);
CREATE UNIQUE INDEX people_external_key ON people(external_key);
CREATE UNIQUE INDEX people_mail ON people(mail);
