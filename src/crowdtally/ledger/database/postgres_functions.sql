-- Writing to a ledger on PostgreSQL: all of it goes through crowdtally_hold and crowdtally_append,
-- which run with the rights of the tables' owner and judge what they are asked to write.
--
-- Whoever may call crowdtally_append may call it with anything. So it reads the whole entry again,
-- follows balance.py, accountants.py, history.py and events.py of ledger/, and leaves to the officers
-- (the members of the owner's role) what ledger/ leaves to them. Two rules keep it safe:
--
-- * A condition that is null holds nobody back, so every condition goes through crowdtally_require,
--   which refuses null too.
-- * Everything but pg_catalog's is named with its schema, and no literal has a backslash: neither
--   search_path nor standard_conforming_strings of the caller changes what is meant.

CREATE OR REPLACE FUNCTION @schema@.crowdtally_hold(
    OUT id text, OUT number bigint, OUT hash text, OUT closed text, OUT role text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT l.id, l.number, l.hash, l.closed, session_user
    INTO STRICT id, number, hash, closed, role
    FROM @schema@.crowdtally_ledger AS l FOR UPDATE;
END $$;

CREATE OR REPLACE FUNCTION @schema@.crowdtally_require(holds boolean, refusal text)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF holds IS NOT TRUE THEN
        RAISE EXCEPTION '%', refusal USING ERRCODE = 'CT001';
    END IF;
END $$;

-- The JSON of a body with each backslash written as DEL, which no body holds: strings keep the form
-- in which they were escaped, and even half a surrogate pair can be compared.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_json(body text)
RETURNS json LANGUAGE sql AS $$
    SELECT replace(replace(replace(body,
        chr(92) || chr(92), chr(127) || '!'), chr(92) || '"', chr(127) || '~'), chr(92), chr(127)
    )::json
$$;

-- What a string of crowdtally_json says.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_text(said json)
RETURNS text LANGUAGE sql AS $$
    SELECT CASE json_typeof(said) WHEN 'string' THEN replace(replace(replace(said::text,
        chr(127) || '!', chr(92) || chr(92)), chr(127) || '~', chr(92) || '"'), chr(127), chr(92)
    )::json #>> '{}' END
$$;

-- The JSON of a body, if it is the one text that canonical.py writes for it.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_read(body text)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    found json;
    escapes text;
    bare text;
BEGIN
    PERFORM @schema@.crowdtally_require(
        length(body) <= 1000000, 'the entry is longer than 1,000,000 characters');
    PERFORM @schema@.crowdtally_require(body ~ '^[ -~]+$', 'the entry is not written in ASCII');
    found := @schema@.crowdtally_json(body);
    -- The control characters with a short escape, and the printable ones, have no long one.
    escapes := chr(127) || '([!~bfnrt]|u(00[189][0-9a-f]|000[0-7bef]|007f|00[a-f][0-9a-f]|'
        || '0[1-9a-f][0-9a-f]{2}|[1-9a-f][0-9a-f]{3}))';
    bare := regexp_replace(found::text, '"[^"]*"', '""', 'g');
    PERFORM @schema@.crowdtally_require(
        strpos(regexp_replace(found::text, escapes, '', 'g'), chr(127)) = 0
        AND bare !~ '[^]["{}:,0-9a-z-]|-0|[0-9][e]|[0-9]{17}'
        AND (bare !~ '[0-9]{16}' OR NOT EXISTS (
            SELECT FROM regexp_matches(bare, '[0-9]{16}', 'g') AS long
            WHERE long[1]::numeric > 9007199254740992)),
        'the entry is not written in the canonical form');
    -- canonical.py reads values up to 22 deep, which are within the entry and its event.
    FOR level IN 1..24 LOOP
        bare := regexp_replace(bare, '[[{][^][{}]*[]}]', '', 'g');
    END LOOP;
    PERFORM @schema@.crowdtally_require(bare = '', 'the entry is nested more than 24 deep');
    PERFORM @schema@.crowdtally_require(NOT EXISTS (
        WITH RECURSIVE node (place, within) AS (
            SELECT '', found
            UNION ALL
            SELECT child.place, child.within FROM node CROSS JOIN LATERAL (
                SELECT key, value FROM json_each(
                    CASE json_typeof(node.within) WHEN 'object' THEN node.within END)
                UNION ALL
                SELECT '', value FROM json_array_elements(
                    CASE json_typeof(node.within) WHEN 'array' THEN node.within END)
            ) AS child (place, within)
            WHERE json_typeof(child.within) IN ('object', 'array')
        )
        SELECT FROM node CROSS JOIN LATERAL (
            SELECT name, lag(name) OVER (ORDER BY place) AS earlier FROM (
                SELECT place, CASE strpos(key, chr(127)) WHEN 0 THEN key
                    ELSE @schema@.crowdtally_text(('"' || key || '"')::json) END AS name
                FROM json_object_keys(node.within) WITH ORDINALITY AS keys (key, place)
            ) AS named
        ) AS pair
        WHERE json_typeof(node.within) = 'object'
        AND (name COLLATE "C" > earlier COLLATE "C") IS FALSE),
        'the entry has keys twice, or not in order');
    RETURN found;
END $$;

-- Whether it is an object with these keys and no others.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_has(said json, keys text[])
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN json_typeof(said) = 'object' AND ARRAY(SELECT json_object_keys(said)) = keys;
END $$;

-- Whether it is a text with more in it than what Python calls blank.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_words(said json)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN json_typeof(said) = 'string' AND said::text !~ ('^"( |' || chr(127)
        || '([tnrf]|u(000b|001[c-f]|0085|00a0|1680|200[0-9a]|202[89f]|205f|3000)))*"$');
END $$;

CREATE OR REPLACE FUNCTION @schema@.crowdtally_unit(said json)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN @schema@.crowdtally_has(said, ARRAY['column', 'kind'])
        AND json_typeof(said -> 'kind') = 'string'
        AND CASE WHEN said ->> 'kind' IN ('user', 'same-person', 'person')
            THEN json_typeof(said -> 'column') = 'string'
            ELSE said ->> 'kind' IN ('row', 'bounded-elsewhere', 'item') AND json_typeof(said -> 'column') = 'null' END;
END $$;

-- An amount such as "1/3" as a numerator and a denominator, if it is not negative and in lowest
-- terms.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_ratio(said json)
RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
    digits text[];
    ratio numeric[];
BEGIN
    PERFORM @schema@.crowdtally_require(
        length(said::text) <= 4002, 'an amount is missing, or has more than 4,000 digits');
    digits := regexp_match(said::text, '^"(0|[1-9][0-9]*)(?:/([1-9][0-9]*))?"$');
    ratio := ARRAY[digits[1]::numeric, coalesce(digits[2]::numeric, 1)];
    PERFORM @schema@.crowdtally_require(
        digits[1] IS NOT NULL AND (digits[2] = '1') IS NOT TRUE AND gcd(ratio[1], ratio[2]) = 1,
        'an amount is not an exact, non-negative number in lowest terms');
    RETURN ratio;
END $$;

-- Whether it is an amount as fields.py writes it: rho and pure_rho only where there is any.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_amount(said json)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN (@schema@.crowdtally_has(said, ARRAY['delta', 'epsilon'])
            OR @schema@.crowdtally_has(said, ARRAY['delta', 'epsilon', 'rho'])
            OR @schema@.crowdtally_has(said, ARRAY['delta', 'epsilon', 'pure_rho'])
            OR @schema@.crowdtally_has(said, ARRAY['delta', 'epsilon', 'pure_rho', 'rho']))
        AND (said -> 'rho')::text IS DISTINCT FROM '"0"'
        AND (said -> 'pure_rho')::text IS DISTINCT FROM '"0"';
END $$;

-- The epsilon, delta, rho and pure_rho of an object, eight numbers.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_loss(said json)
RETURNS numeric[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN @schema@.crowdtally_ratio(said -> 'epsilon')
        || @schema@.crowdtally_ratio(said -> 'delta')
        || @schema@.crowdtally_ratio(coalesce(said -> 'rho', '"0"'::json))
        || @schema@.crowdtally_ratio(coalesce(said -> 'pure_rho', '"0"'::json));
END $$;

-- What one charge, or one part of it, states: more than nothing, and a delta below 1.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_cost(said json)
RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
    cost numeric[];
BEGIN
    cost := @schema@.crowdtally_loss(said);
    FOR place IN 1..5 BY 2 LOOP
        PERFORM @schema@.crowdtally_require(
            length(cost[place]::text) + length(cost[place + 1]::text) <= 3000,
            'an amount of a charge has more than 3,000 digits');
    END LOOP;
    PERFORM @schema@.crowdtally_require(
        (cost[1] > 0 OR cost[5] > 0) AND cost[3] < cost[4],
        'an epsilon must be above 0, and a delta below 1');
    RETURN cost;
END $$;

CREATE OR REPLACE FUNCTION @schema@.crowdtally_sum(a numeric[], b numeric[])
RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
    total numeric[] := ARRAY[]::numeric[];
    top numeric;
    common numeric;
BEGIN
    FOR place IN 1..7 BY 2 LOOP
        top := a[place] * b[place + 1] + b[place] * a[place + 1];
        common := gcd(top, a[place + 1] * b[place + 1]);
        total := total || ARRAY[div(top, common), div(a[place + 1] * b[place + 1], common)];
    END LOOP;
    RETURN total;
END $$;

-- The same amounts, or a little more of few digits, as core/numbers.py makes them: without it a sum has
-- the digits of all its charges, and whatever reads it takes seconds or fails, for good.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_short(a numeric[])
RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
    kept numeric[] := ARRAY[]::numeric[];
    top numeric;
    bottom numeric;
    scale numeric;
BEGIN
    FOR place IN 1..7 BY 2 LOOP
        top := a[place];
        bottom := a[place + 1];
        IF greatest(length(top::text), length(bottom::text)) > 700 THEN
            scale := ('1e' || least(greatest(
                0, 60 + length(bottom::text) - length(top::text)), 360))::numeric;
            top := div(top * scale + bottom - 1, bottom);
            bottom := div(scale, gcd(top, scale));
            top := div(top, gcd(top, scale));
        END IF;
        kept := kept || ARRAY[top, bottom];
    END LOOP;
    RETURN kept;
END $$;

-- Whether neither epsilon nor delta nor rho of a exceeds that of b.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_within(a numeric[], b numeric[])
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN a[1] * b[2] <= b[1] * a[2] AND a[3] * b[4] <= b[3] * a[4] AND a[5] * b[6] <= b[5] * a[6];
END $$;

-- What one part of a charge costs by zCDP, as in zcdp.py.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_part(part json)
RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
    cost numeric[] := @schema@.crowdtally_cost(part);
    none numeric[] := ARRAY[0, 1, 0, 1, 0, 1, 0, 1];
BEGIN
    IF (part -> 'selects')::text = 'true' THEN
        RETURN @schema@.crowdtally_sum(
            none, ARRAY[0, 1, 0, 1, cost[1] * cost[1], 8 * cost[2] * cost[2], 0, 1]);
    END IF;
    RETURN @schema@.crowdtally_sum(
        cost, ARRAY[0, 1, 0, 1, 0, 1, cost[1] * cost[1], 2 * cost[2] * cost[2]]);
END $$;

-- What a charge costs, and that its parts do not cost more than it states, as in accountant.py and
-- zcdp.py.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_price(event json, accountant text)
RETURNS numeric[] LANGUAGE plpgsql AS $$
DECLARE
    part json;
    stated numeric[] := @schema@.crowdtally_cost(event);
    parts numeric[] := ARRAY[0, 1, 0, 1, 0, 1, 0, 1];
    selected numeric[] := ARRAY[0, 1, 0, 1, 0, 1, 0, 1];
    rest numeric[];
BEGIN
    FOR part IN SELECT json_array_elements(event -> 'parts') LOOP
        IF accountant = 'zcdp' THEN
            parts := @schema@.crowdtally_sum(parts, @schema@.crowdtally_part(part));
            IF (part -> 'selects')::text = 'true' THEN
                selected := @schema@.crowdtally_sum(selected, @schema@.crowdtally_cost(part));
            END IF;
        ELSE
            parts := @schema@.crowdtally_sum(parts, @schema@.crowdtally_cost(part));
        END IF;
    END LOOP;
    IF accountant = 'sequential' THEN
        PERFORM @schema@.crowdtally_require(
            stated[5] = 0, 'a dataset that adds up epsilon cannot take a rho');
    ELSE
        PERFORM @schema@.crowdtally_require(
            accountant = 'zcdp', 'the server does not know the accountant of this dataset');
        IF stated[5] = 0 THEN
            PERFORM @schema@.crowdtally_require(
                @schema@.crowdtally_within(selected, stated),
                'a charge has no parts, or parts of more than it states');
            stated := @schema@.crowdtally_sum(
                stated, ARRAY[-selected[1], selected[2], 0, 1, parts[5], parts[6], 0, 1]);
        END IF;
    END IF;
    PERFORM @schema@.crowdtally_require(
        (parts[1] > 0 OR parts[5] > 0) AND @schema@.crowdtally_within(parts, stated),
        'a charge has no parts, or parts of more than it states');
    IF accountant = 'zcdp' THEN
        rest := @schema@.crowdtally_sum(stated, ARRAY[-parts[1], parts[2], 0, 1, 0, 1, 0, 1]);
        stated := @schema@.crowdtally_sum(stated, ARRAY[0, 1, 0, 1, 0, 1, parts[7], parts[8]]);
        stated := @schema@.crowdtally_sum(
            stated, ARRAY[0, 1, 0, 1, 0, 1, rest[1] * rest[1], 2 * rest[2] * rest[2]]);
    END IF;
    RETURN @schema@.crowdtally_short(stated);
END $$;

-- A ratio as a decimal of 60 digits, rounded down, plus so many of its last digit.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_decimal(top numeric, bottom numeric, more integer)
RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
    places integer := greatest(0, 60 + length(bottom::text) - length(top::text));
BEGIN
    RETURN (div(top * ('1e' || places)::numeric, bottom) + more) * ('1e-' || places)::numeric;
END $$;

-- Whether rho-zCDP is (epsilon, delta)-differentially private, by the bound of laws/conversion.py. It
-- holds at every order; the one near the best is found by Newton's steps. The ln of numeric is not
-- certified as the client's arithmetic is. The client decided already, and what just fits there must
-- not fail here: so the logarithm of delta may be 1e-12 larger.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_private(
    rho numeric[], epsilon numeric[], delta numeric[]
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    r numeric;
    e numeric;
    u numeric;
    step numeric;
BEGIN
    IF epsilon[1] < 0 OR delta[1] < 0 OR (rho[1] > 0 AND delta[1] = 0) THEN
        RETURN false;
    ELSIF rho[1] = 0 THEN
        RETURN true;
    END IF;
    r := @schema@.crowdtally_decimal(rho[1], rho[2], 1);
    e := @schema@.crowdtally_decimal(epsilon[1], epsilon[2], 0);
    IF r - e > 50 THEN
        RETURN delta[1] >= delta[2];
    END IF;
    u := CASE WHEN e > r THEN round((e - r) / (2 * r), 90)
        ELSE exp(round(e - r - ln(1 + 2 * r) - 1, 90)) END;
    FOR turn IN 1..200 LOOP
        step := ln(1 + round(1 / u, 90)) + e - (2 * u + 1) * r;
        step := round(step / (2 * r + round(1 / (u * (1 + u)), 90)), 90);
        u := u + greatest(step, 0);
        EXIT WHEN step < u * 1e-12;
    END LOOP;
    u := round(u, 90);
    RETURN u * ((1 + u) * r - e) - u * ln(1 + round(1 / u, 90)) - ln(1 + u)
        <= ln(@schema@.crowdtally_decimal(delta[1], delta[2], 0)) + 1e-12;
END $$;

-- Whether so much is within a limit, as in accountant.py and zcdp.py, although amounts may have been
-- chosen after earlier outputs; cost is the last of it.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_fits(
    spent numeric[], cost numeric[], most numeric[], accountant text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    together numeric[];
BEGIN
    -- As in balance.py: a charge without delta is judged by epsilon, or by rho, alone.
    IF accountant = 'sequential' THEN
        RETURN spent[1] * most[2] <= most[1] * spent[2]
            AND (cost[3] = 0 OR spent[3] * most[4] <= most[3] * spent[4]);
    END IF;
    together := @schema@.crowdtally_sum(
        ARRAY[0, 1, 0, 1, spent[5], spent[6], 0, 1], ARRAY[0, 1, 0, 1, spent[7], spent[8], 0, 1]);
    IF most[5] > 0 THEN
        RETURN together[5] * most[6] <= most[5] * together[6]
            AND (cost[3] = 0 OR spent[3] * most[4] <= most[3] * spent[4]);
    END IF;
    RETURN spent[3] = 0 AND (
        (spent[5] = 0 AND spent[1] * most[2] <= most[1] * spent[2])
        OR @schema@.crowdtally_private(together[5:6], most[1:2], most[3:4]));
END $$;

-- Whether one charge, whose amounts are fixed together, is within a limit.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_fits_alone(
    cost numeric[], most numeric[], accountant text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    together numeric[];
    room numeric[];
BEGIN
    IF accountant = 'sequential' OR most[5] > 0 THEN
        RETURN @schema@.crowdtally_fits(cost, cost, most, accountant);
    END IF;
    together := @schema@.crowdtally_sum(
        ARRAY[0, 1, 0, 1, cost[5], cost[6], 0, 1], ARRAY[0, 1, 0, 1, cost[7], cost[8], 0, 1]);
    room := @schema@.crowdtally_sum(
        most, ARRAY[-cost[1], cost[2], -cost[3], cost[4], 0, 1, 0, 1]);
    RETURN @schema@.crowdtally_private(together[5:6], most[1:2], room[3:4])
        OR @schema@.crowdtally_private(cost[5:6], room[1:2], room[3:4]);
END $$;

-- Whether two balances agree on everything but what was spent and the unit.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_same_limits(before json, after json)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN @schema@.crowdtally_has(after, ARRAY['accountant', 'each', 'limit', 'spent', 'unit'])
        AND (before -> 'accountant')::text = (after -> 'accountant')::text
        AND (before -> 'limit')::text = (after -> 'limit')::text
        AND (before -> 'each')::text = (after -> 'each')::text;
END $$;

-- A charge: its fields, its parts, its unit, and that it fits, at once and in total.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_charge(event json, before json, after json)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    asked json := event -> 'asked';
    rule text := before ->> 'accountant';
    part json;
    cost numeric[];
    spent numeric[];
BEGIN
    PERFORM @schema@.crowdtally_require(
        @schema@.crowdtally_has(event, ARRAY['asked', 'delta', 'epsilon', 'kind', 'parts',
            'release', 'rho', 'unit', 'version', 'versions'])
        AND (event -> 'version')::text = '4'
        AND @schema@.crowdtally_has(
            asked, ARRAY['output', 'parameters', 'purpose', 'request_id', 'source'])
        AND json_typeof(asked -> 'parameters') = 'object'
        AND json_typeof(event -> 'versions') = 'object'
        AND @schema@.crowdtally_words(event -> 'release')
        AND (json_typeof(asked -> 'output') = 'null' OR @schema@.crowdtally_words(asked -> 'output'))
        AND (json_typeof(asked -> 'source') = 'null' OR @schema@.crowdtally_words(asked -> 'source'))
        AND (json_typeof(asked -> 'purpose') = 'null'
            OR @schema@.crowdtally_words(asked -> 'purpose'))
        AND json_typeof(event -> 'parts') = 'array',
        'a charge lacks a field of its version, or has one too many');
    PERFORM @schema@.crowdtally_require(
        json_typeof(asked -> 'request_id') = 'null'
        OR @schema@.crowdtally_request_id(asked -> 'request_id'),
        'a request id on PostgreSQL is at most 200 letters, digits, signs and inner spaces, of the '
        'Latin, Greek, Cyrillic, Japanese, Korean or common Chinese script');
    FOR part IN SELECT json_array_elements(event -> 'parts') LOOP
        PERFORM @schema@.crowdtally_require(
            @schema@.crowdtally_has(part, ARRAY['delta', 'epsilon', 'mechanism', 'name',
                'parameters', 'rho', 'selects'])
            AND CASE (part -> 'selects')::text
                WHEN 'true' THEN
                    (part -> 'rho')::text = '"0"' AND (part -> 'delta')::text = '"0"'
                WHEN 'false' THEN
                    ((part -> 'rho')::text = '"0"') <> ((part -> 'epsilon')::text = '"0"') END
            AND @schema@.crowdtally_words(part -> 'mechanism')
            AND @schema@.crowdtally_words(part -> 'name')
            AND json_typeof(part -> 'parameters') = 'object',
            'a part of a charge lacks a field, or has one too many');
    END LOOP;
    -- As in charge.py: a part of rho needs a total of it.
    PERFORM @schema@.crowdtally_require(
        (event -> 'rho')::text <> '"0"' OR NOT EXISTS (
            SELECT FROM json_array_elements(event -> 'parts') AS each_part
            WHERE (each_part -> 'rho')::text <> '"0"'),
        'a charge with a part of rho states no rho');
    cost := @schema@.crowdtally_price(event, rule);
    PERFORM @schema@.crowdtally_require(
        @schema@.crowdtally_unit(event -> 'unit')
        AND (event -> 'unit')::text = (after -> 'unit')::text
        AND (json_typeof(before -> 'unit') = 'null'
            OR (before -> 'unit')::text = (after -> 'unit')::text),
        'a charge is for another privacy unit than its dataset');
    spent := @schema@.crowdtally_loss(after -> 'spent');
    PERFORM @schema@.crowdtally_require(
        @schema@.crowdtally_amount(after -> 'spent')
        AND spent = @schema@.crowdtally_short(
            @schema@.crowdtally_sum(@schema@.crowdtally_loss(before -> 'spent'), cost)),
        'the sum after a charge is not the sum before it and the charge');
    IF json_typeof(before -> 'limit') IS DISTINCT FROM 'null' THEN
        PERFORM @schema@.crowdtally_require(
            @schema@.crowdtally_fits(
                spent, cost, @schema@.crowdtally_loss(before -> 'limit'), rule),
            'the charge does not fit in what remains of the limit');
    END IF;
    IF json_typeof(before -> 'each') IS DISTINCT FROM 'null' THEN
        PERFORM @schema@.crowdtally_require(
            @schema@.crowdtally_fits_alone(
                cost, @schema@.crowdtally_loss(before -> 'each'), rule),
            'the charge is more than a single release may cost');
    END IF;
END $$;

-- A request id that every reader takes: which rare characters are printable, as it must be, depends
-- on the version of Python.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_request_id(said json)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN json_typeof(said) = 'string'
        AND said::text !~ '^" | "$'
        AND char_length(@schema@.crowdtally_text(said)) BETWEEN 1 AND 200
        AND said::text ~ ('^"([ !#-~]|' || chr(127) || '([!~]|u(00a[1-9abcef]|00[b-f][0-9a-f]|'
            || '0[12][0-9a-f]{2}|03[0-6][0-9a-f]|039[1-9a-f]|03a[013-9a-f]|03[b-f][0-9a-f]|'
            || '04[0-9a-f]{2}|30(4[1-9a-f]|[5-8a-f][0-9a-f]|9[0-69a-f])|4[ef][0-9a-f]{2}|'
            || '[5-8][0-9a-f]{3}|9[0-e][0-9a-f]{2}|a[c-f][0-9a-f]{2}|[bc][0-9a-f]{3}|'
            || 'd[0-6][0-9a-f]{2})))+"$');
END $$;

-- What happens to a charge once it was made: that there is one, and that it can happen now.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_follow(
    event json, kind text, dataset text, about bigint, before json, after json
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    charge record;
    past text[];
    cost numeric[];
BEGIN
    SELECT e.kind, e.hash, @schema@.crowdtally_json(e.body) -> 'event' AS event INTO charge
    FROM @schema@.crowdtally_entries AS e WHERE e.number = $4 AND e.dataset = $3;
    PERFORM @schema@.crowdtally_require(
        charge.kind = 'reserved'
        AND (event -> 'reservation')::text = format('"%s-%s"', $4, left(charge.hash, 8)),
        'there is no such reservation in this dataset');
    IF $2 = 'voided' THEN
        cost := CASE before ->> 'accountant' WHEN 'sequential'
            THEN @schema@.crowdtally_short(@schema@.crowdtally_loss(charge.event))
            ELSE @schema@.crowdtally_price(charge.event, before ->> 'accountant') END;
    END IF;
    past := ARRAY(SELECT e.kind FROM @schema@.crowdtally_entries AS e
        WHERE e.about = $4 ORDER BY e.number);
    PERFORM @schema@.crowdtally_require(CASE $2
        WHEN 'drawing' THEN past = ARRAY[]::text[]
        WHEN 'published' THEN past = ARRAY['drawing']
        WHEN 'withdrawn' THEN 'published' = ANY (past) AND NOT 'withdrawn' = ANY (past)
        WHEN 'voided' THEN NOT past && ARRAY['published', 'voided'] END,
        format('%s cannot follow what happened to this reservation', $2));
    PERFORM @schema@.crowdtally_require(CASE $2
        WHEN 'drawing' THEN
            @schema@.crowdtally_has(event, ARRAY['kind', 'reservation', 'staged', 'version'])
            AND (event -> 'version')::text = '1'
            AND (json_typeof(event -> 'staged') = 'null' OR (
                @schema@.crowdtally_has(event -> 'staged', ARRAY['host', 'path'])
                AND @schema@.crowdtally_words(event -> 'staged' -> 'host')
                AND @schema@.crowdtally_words(event -> 'staged' -> 'path')))
        WHEN 'published' THEN
            @schema@.crowdtally_has(event, ARRAY['kind', 'reservation', 'sha256', 'version'])
            AND (event -> 'version')::text = '2'
            AND (event -> 'sha256')::text ~ '^"[0-9a-f]{64}"$'
        WHEN 'withdrawn' THEN
            @schema@.crowdtally_has(event, ARRAY['kind', 'reason', 'reservation', 'version'])
            AND (event -> 'version')::text = '1' AND @schema@.crowdtally_words(event -> 'reason')
        WHEN 'voided' THEN
            @schema@.crowdtally_has(
                event, ARRAY['given_back', 'kind', 'reason', 'reservation', 'version'])
            AND @schema@.crowdtally_amount(event -> 'given_back')
            AND (event -> 'version')::text = '2'
            AND @schema@.crowdtally_words(event -> 'reason')
            AND @schema@.crowdtally_loss(event -> 'given_back') = cost
        END, format('an entry %s lacks a field of its version, or has a wrong one', $2));
    PERFORM @schema@.crowdtally_require(
        (before -> 'unit')::text = (after -> 'unit')::text
        AND @schema@.crowdtally_amount(after -> 'spent')
        AND @schema@.crowdtally_loss(after -> 'spent') = CASE $2
            WHEN 'voided' THEN @schema@.crowdtally_short(@schema@.crowdtally_sum(
                @schema@.crowdtally_loss(before -> 'spent'),
                ARRAY[-cost[1], cost[2], -cost[3], cost[4], -cost[5], cost[6], -cost[7], cost[8]]))
            ELSE @schema@.crowdtally_loss(before -> 'spent') END,
        'the sum after an entry does not follow from the sum before it');
END $$;

-- Hashes of sources: in order, once, of equal beginnings, and filed under these.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_sources(
    event json, about bigint, before json, after json
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    hashes text[];
BEGIN
    PERFORM @schema@.crowdtally_require(
        @schema@.crowdtally_has(event, ARRAY['hashes', 'kind', 'version'])
        AND (event -> 'version')::text = '1'
        AND (event -> 'hashes')::text ~ '^[[]"[0-9a-f]{32}"(,"[0-9a-f]{32}")*[]]$',
        'an entry sources lacks a field of its version, or has a wrong one');
    hashes := ARRAY(SELECT json_array_elements_text(event -> 'hashes'));
    PERFORM @schema@.crowdtally_require(
        hashes = ARRAY(SELECT DISTINCT h COLLATE "C" FROM unnest(hashes) AS h ORDER BY 1)
        AND left(hashes[1], 3) = left(hashes[cardinality(hashes)], 3)
        AND $2 = -1 - ('x0' || left(hashes[1], 3))::bit(16)::integer,
        'hashes of sources are not in order, or are filed under other digits');
    PERFORM @schema@.crowdtally_require(
        (before -> 'unit')::text = (after -> 'unit')::text
        AND (before -> 'spent')::text = (after -> 'spent')::text,
        'the sum after an entry does not follow from the sum before it');
END $$;

-- What an officer does to a dataset: only that the balance says the same.
CREATE OR REPLACE FUNCTION @schema@.crowdtally_decide(
    event json, kind text, before json, after json
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM @schema@.crowdtally_require(CASE $2
        WHEN 'created' THEN
            before IS NULL
            AND (after -> 'spent')::text = '{"delta":"0","epsilon":"0"}'
            AND (after -> 'unit')::text = (event -> 'unit')::text
            AND (after -> 'limit')::text = (event -> 'limit')::text
            AND (after -> 'each')::text = (event -> 'each')::text
        WHEN 'limit' THEN
            (after -> 'unit')::text = (before -> 'unit')::text
            AND (after -> 'spent')::text = (before -> 'spent')::text
            AND (after -> 'limit')::text = (event -> 'limit')::text
            AND (after -> 'each')::text = (event -> 'each')::text
        END, format('an entry %s and the balance after it disagree', $2));
END $$;

CREATE OR REPLACE FUNCTION @schema@.crowdtally_append(
    number bigint, dataset text, kind text, about bigint, body text, hash text, key text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
#variable_conflict use_column
DECLARE
    ledger record;
    owner oid;
    entry json;
    event json;
    before json;
    after json;
BEGIN
    SELECT l.number, l.hash, l.closed INTO STRICT ledger
    FROM @schema@.crowdtally_ledger AS l FOR UPDATE;
    PERFORM @schema@.crowdtally_require(ledger.closed IS NULL, 'the ledger is closed');
    IF ($3 IN ('sources', 'reserved', 'drawing', 'published', 'withdrawn')) IS NOT TRUE THEN
        SELECT relowner INTO STRICT owner FROM pg_class
        WHERE oid = '@schema@.crowdtally_ledger'::regclass;
        IF pg_has_role(session_user, owner, 'MEMBER') IS NOT TRUE THEN
            RAISE EXCEPTION 'an entry % is for officers of this ledger', $3
            USING ERRCODE = '42501', DETAIL = coalesce($3, ''), HINT = pg_get_userbyid(owner);
        END IF;
    END IF;

    PERFORM @schema@.crowdtally_require(
        $1 = ledger.number + 1 AND $6 = encode(
            sha256(convert_to(ledger.hash || chr(10) || $5, 'UTF8')), 'hex'),
        'the entry does not follow from the last one');
    entry := @schema@.crowdtally_read($5);
    event := entry -> 'event';
    after := entry -> 'balance';
    PERFORM @schema@.crowdtally_require(
        @schema@.crowdtally_has(
            entry, ARRAY['balance', 'by', 'dataset', 'event', 'number', 'time'])
        AND (entry -> 'number')::text = $1::text
        AND @schema@.crowdtally_text(entry -> 'dataset') = $2
        AND (event -> 'kind')::text = '"' || $3 || '"'
        AND $2 <> ''
        AND (entry -> 'time')::text
            ~ '^"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3])(:[0-5][0-9]){2}[+]00:00"$',
        'the entry and its columns disagree');
    PERFORM @schema@.crowdtally_require(
        CASE WHEN $3 = 'sources' THEN $4 < 0
            WHEN $3 IN ('drawing', 'published', 'voided', 'withdrawn') THEN $4 > 0
            ELSE $4 IS NULL END
        AND $7 IS NOT DISTINCT FROM
            CASE $3 WHEN 'reserved' THEN @schema@.crowdtally_text(event -> 'asked' -> 'request_id')
            END,
        'the entry and its columns disagree');
    PERFORM @schema@.crowdtally_require(
        @schema@.crowdtally_has(entry -> 'by', ARRAY['account', 'host', 'role'])
        AND @schema@.crowdtally_words(entry -> 'by' -> 'account')
        AND @schema@.crowdtally_words(entry -> 'by' -> 'host')
        AND @schema@.crowdtally_words(entry -> 'by' -> 'role')
        AND @schema@.crowdtally_text(entry -> 'by' -> 'role') = session_user,
        'the entry names another role than the one that adds it');
    PERFORM @schema@.crowdtally_require(
        (entry ->> 'time')::timestamptz BETWEEN clock_timestamp() - interval '1 day'
            AND clock_timestamp() + interval '1 day',
        'the time of the entry is more than a day from the time of the server: set the clock');

    SELECT @schema@.crowdtally_json(e.body) -> 'balance' INTO before
    FROM @schema@.crowdtally_datasets AS d JOIN @schema@.crowdtally_entries AS e
        ON e.number = d.last AND e.dataset = d.name
    WHERE d.name = $2;
    IF ($3 IN ('created', 'limit')) IS NOT TRUE THEN
        PERFORM @schema@.crowdtally_require(
            before IS NOT NULL AND @schema@.crowdtally_same_limits(before, after),
            'there is no such dataset, or its limits after the entry are not those before it');
    END IF;
    CASE
        WHEN $3 = 'reserved' THEN
            PERFORM @schema@.crowdtally_charge(event, before, after);
        WHEN $3 = 'sources' THEN
            PERFORM @schema@.crowdtally_sources(event, $4, before, after);
        WHEN $3 IN ('drawing', 'published', 'voided', 'withdrawn') THEN
            PERFORM @schema@.crowdtally_follow(event, $3, $2, $4, before, after);
        ELSE
            PERFORM @schema@.crowdtally_decide(event, $3, before, after);
    END CASE;

    INSERT INTO @schema@.crowdtally_entries (number, dataset, kind, about, body, hash, key)
    VALUES ($1, $2, $3, $4, $5, $6, $7);
    UPDATE @schema@.crowdtally_ledger SET number = $1, hash = $6;
    INSERT INTO @schema@.crowdtally_datasets (name, last) VALUES ($2, $1)
    ON CONFLICT (name) DO UPDATE SET last = excluded.last;
END $$;
