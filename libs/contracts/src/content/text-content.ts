import Joi from 'joi';

export interface TextContent {
  kind: 'text';
  text: string;
}

/** As it is stored. */
export const textContentSchema = Joi.object<TextContent>({
  kind: Joi.string().valid('text').required(),
  text: Joi.string().required(),
});
