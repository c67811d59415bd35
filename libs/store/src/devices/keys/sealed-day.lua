-- The day on which a sealed value was written (days since 1970): it stands open in its header (libs/store/src/core/vault.ts).
-- One that another version of the gateway has sealed counts as written just now: it is not to be forgotten.
--- @constants SEALED_VERSION
local function sealed_day(sealed)
  if string.byte(sealed, 1) ~= SEALED_VERSION then return math.huge end
  local at = 3 + string.byte(sealed, 2)
  return string.byte(sealed, at) * 256 + string.byte(sealed, at + 1)
end
