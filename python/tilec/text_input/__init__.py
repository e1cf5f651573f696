"""What a user gives as text or bytes: decoded, told apart, parsed, verified."""
