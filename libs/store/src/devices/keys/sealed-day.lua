-- The day on which a sealed value was written (days since 1970): it stands open in its header (libs/store/src/core/vault.ts).
local function sealed_day(sealed)
  local at = 3 + string.byte(sealed, 2)
  return string.byte(sealed, at) * 256 + string.byte(sealed, at + 1)
end
