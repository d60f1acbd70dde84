"""What a release needs: a wheel that was tried, a bill of materials, licences that fit."""
