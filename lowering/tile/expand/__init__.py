"""Passes that replace checks, packed views, block scaling and tilex by operations. Import analysis and simplify."""
