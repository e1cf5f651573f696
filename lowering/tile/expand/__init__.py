"""Passes that express checks, packed views, block scaling and tilex by others. Import analysis and simplify."""
