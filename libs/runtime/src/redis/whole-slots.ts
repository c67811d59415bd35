/**
 * Lua that begins only where all of a slot is. While a slot of a Cluster moves, a script would fail in the middle at the first key that the
 * former master has not, or no longer, and on the next one take keys that have not arrived for missing. Two keys that are never there
 * show both: the one answers ASK then, the other TRYAGAIN. Clients repeat it until the slot has moved.
 * @param lua on keys of one slot, each with its hash tag, or on one key without.
 */
export function onWholeSlots(lua: string): string {
  const at = lua.startsWith('#!') ? lua.indexOf('\n') + 1 : 0;
  return `${lua.slice(0, at)}${GUARD}\n${lua.slice(at)}`;
}

const GUARD = `if string.find(KEYS[1], '{', 1, true)
  and type(redis.pcall('EXISTS', KEYS[1] .. '\\1', KEYS[1] .. '\\2')) == 'table' then
  return redis.error_reply('TRYAGAIN a slot moves')
end`;
