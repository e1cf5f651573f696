"""The ptx dialect as PTX text: registers, copies, provenance."""
