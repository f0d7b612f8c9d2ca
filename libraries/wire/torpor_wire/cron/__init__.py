"""Computes the ticks of cron expressions in a time zone. Pure.

Every component computes ticks here: the operator, the triggerer, a task pod and the command `torpor`. zoneinfo reads
the file of a zone; nothing else is read. ADR 0047 has the reasons.

**Syntax.** Five fields (minute, hour, day of month, month, day of week), six with seconds first, or a name such as
`@daily`. A field is a list of `*`, `5`, `1-5`, `*/2`, `1-10/3` and `5/15` (from 5 to the end). Months and days of the
week have English names of three letters; 0 and 7 are Sunday. The day of month knows `L` (the last day) and `LW` (the
last day from Monday to Friday), the day of week `5L` (the last Friday) and `5#2` (the second Friday). `?` is `*` in
both.

**Days.** If the day of month or the day of week begins with `*`, a day must match both. Otherwise it must match one
of them. This is the rule of Debian's cron.

**Daylight saving time.** An expression has a *fixed time* if it has five fields, and neither its minute nor its hour
begins with `*`. All others are *clock* expressions.

| local time | fixed time | clock |
|---|---|---|
| exists once | ticks at it | ticks at it |
| is skipped | ticks once at the end of the skipped hours, however many of its times they contain | does not tick |
| comes twice | ticks in the first pass only | ticks in both passes |

A time is skipped or repeated by any change of the offset of the zone: by half an hour (Lord Howe), at midnight
(Havana), or by a day (Apia, 2011).

**Search.** A search walks over the periods in which the offset of the zone is constant. Within a period it computes
with fields of the calendar, from the month to the second. `Ticks.next`, `previous`, `between` and `count` read the same
periods, so they agree. No search steps through minutes, and each ends after a number of years.
"""
