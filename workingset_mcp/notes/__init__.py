"""From the text of one file to a `Note`: structure, dates, items, owners, statuses. Pure: no file is read here."""
